import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@millrace/platform/clock';
import { createDb } from '@millrace/platform/db';
import { createIdSource } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { outboxShards } from '@millrace/platform/outbox';
import { createSealer } from '@millrace/platform/secrets';
import { createTestDatabase, databaseWithClock, longDbTimeouts, type TestDatabase } from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditDefaults, formatAuditReport, runAudit } from '../auditor/index.ts';
import { sweepMeters } from '../metering/index.ts';
import { loadHistory, type LoadResult } from './index.ts';
import { readHistoryHeader } from './history.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const file = `${root}db/demo/history.jsonl.gz`;
const DAY_MS = 86_400_000;
const log = createLogger({ name: 'test', level: 'silent' });
const sealer = createSealer({ keys: [{ id: 'test', key: new Uint8Array(32).fill(7) }], activeId: 'test' });

const header = await readHistoryHeader(file);
/** Sixty days after the history was generated. */
const loadedAt = new Date(header.endedAt + 60 * DAY_MS);

/** Only the owner of the server may insert rows without their triggers. */
async function load({ url }: TestDatabase, at: Date): Promise<LoadResult> {
  const ids = createIdSource({ clock: systemClock, cell: 0 });
  const db = createDb({ ...longDbTimeouts, url, poolSize: 1, role: null, ids, log });
  try {
    return await loadHistory(databaseWithClock(db, at), { file, sealer });
  } finally {
    await db.close();
  }
}

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ statementTimeoutMs: 120_000 });
  expect(await load(database, loadedAt)).toMatchObject({ outcome: 'loaded' });
}, 300_000);
afterAll(() => database.drop());

const one = async <Row>(text: string): Promise<Row> => (await database.query(text)).rows[0] as Row;

it('the history is for the current migrations; npm run demo:generate writes a new one', () => {
  const names = readdirSync(`${root}db/migrations`)
    .filter((name) => name.endsWith('.sql'))
    .toSorted();
  expect(header.migrations).toHaveLength(names.length);
  for (const [index, name] of header.migrations.entries()) expect(names[index]).toContain(name);
});

describe('a loaded history', () => {
  it('ends at the time of the load', async () => {
    const { last } = await one<{ last: Date }>('select max(occurred_at) as last from ledger_transfers');
    expect(last.getTime()).toBeGreaterThan(loadedAt.getTime() - DAY_MS);
    expect(last.getTime()).toBeLessThanOrEqual(loadedAt.getTime());
  });

  it('charges nothing for the time between its end and the load', async () => {
    const sum = 'select sum(amount_nano_usd)::text as sum, count(*)::int as count from ledger_transfers';
    const before = await one(sum);
    const shards = Array.from({ length: outboxShards }, (_, shard) => shard);
    await sweepMeters(databaseWithClock(database.db, loadedAt), { shards, log });
    expect(await one(sum)).toEqual(before);
  });

  it('has nothing that the auditor reports', async () => {
    const report = await runAudit(databaseWithClock(database.db, loadedAt), {
      ...auditDefaults,
      kind: 'full',
    });
    if (report === null) expect.fail('no report');
    const findings = report.outcomes.flatMap((outcome) => outcome.findings);
    expect(findings, formatAuditReport(report)).toEqual([]);
  });

  it('starts a new generation', async () => {
    expect(await one('select generation::int from restore_state')).toEqual({ generation: 2 });
  });

  it('has rentals that start, run, ended and failed, suppliers, volumes, budgets, webhooks and an audit log', async () => {
    const { rows } = await database.query<{ status: string }>(
      'select distinct status from rentals order by 1',
    );
    expect(rows.map(({ status }) => status)).toEqual(
      expect.arrayContaining(['Pending', 'Running', 'Terminated']),
    );
    // A failed rental is Terminated as soon as its machine is deleted.
    const failed = await database.query<{ mode: string }>(
      `select distinct mode from events where type = 'rental.failed' order by 1`,
    );
    expect(failed.rows.map(({ mode }) => mode)).toEqual(['live', 'test']);
    for (const table of [
      'suppliers',
      'volumes',
      'volume_snapshots',
      'budgets',
      'webhook_deliveries',
      'audit_log',
      'maintenance_windows',
    ]) {
      const { count } = await one<{ count: number }>(`select count(*)::int as count from ${table}`);
      expect(count, table).toBeGreaterThan(0);
    }
  });

  it('is not loaded again', async () => {
    expect(await load(database, loadedAt)).toEqual({ outcome: 'in use' });
  });
});

it('two loads at the same time load the history once', async () => {
  await using other = await createTestDatabase();
  const results = await Promise.all([load(other, loadedAt), load(other, loadedAt)]);
  expect(results.map(({ outcome }) => outcome).toSorted()).toEqual(['in use', 'loaded']);
});

it('a history for other migrations changes nothing', async () => {
  await using other = await createTestDatabase();
  await other.query(
    `delete from schema_migrations where version = (select max(version) from schema_migrations)`,
  );
  expect(await load(other, loadedAt)).toEqual({ outcome: 'other migrations' });
  expect((await other.query('select from organisations')).rowCount).toBe(0);
});
