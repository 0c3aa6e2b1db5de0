import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { nanoUsd } from '@millrace/platform/money';
import { systemClock } from '@millrace/platform/clock';
import { ensureUp } from '@millrace/services';
import {
  createTestDatabase,
  makeCertificate,
  startLlama,
  startValkeyServer,
  startWebhookReceiver,
} from '@millrace/testing';
import { seedOrganisation } from '@millrace/core/fixture';
import { auditLedger } from '../stack/ledger-audit.ts';
import { grantCredit } from '../stack/tenant.ts';
import { createRowReader, type ReadRows } from '../stack/supervised-process.ts';
import { createLoad, type Load } from './versions/load.ts';
import { deployModel } from './versions/model.ts';
import { programsOf, type Version } from './versions/programs.ts';

const execute = promisify(execFile);
const root = path.join(import.meta.dirname, '../..');
/** Long enough for many rentals and hundreds of chats. */
const PHASE_MS = 20_000;
const RECEIVER = '127.0.0.2';

/**
 * Compares with the commit in MILLRACE_OTHER_VERSION, or the one before HEAD. Both must have the same schema: this proves that
 * their processes can run together, not that a migration works.
 */
export const proof = defineProof({
  name: 'versions',
  proves:
    'Processes of another commit run beside those of this commit on the same engines, are replaced by them and return, while rentals, chats and webhooks are in flight. No request fails, no process logs an error, every event is delivered, and the auditor finds nothing.',
  short: null,
  long: prove,
});

async function prove(run: ProofRun): Promise<ProofReport> {
  const folder = mkdtempSync(path.join(tmpdir(), 'millrace-versions-'));
  try {
    const other = path.join(folder, 'other');
    const commit = process.env['MILLRACE_OTHER_VERSION'] ?? 'HEAD~1';
    await execute('git', ['clone', '--quiet', root, other]);
    await execute('git', [
      '-C',
      other,
      'checkout',
      '--quiet',
      (await execute('git', ['-C', root, 'rev-parse', commit])).stdout.trim(),
    ]);
    run.note(`installing ${commit}`);
    await execute('npm', ['ci', '--no-audit', '--no-fund'], { cwd: other });
    return await proveBeside(run, folder, other);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function proveBeside(run: ProofRun, folder: string, other: string): Promise<ProofReport> {
  const endpoints = await ensureUp(['postgres', 'valkey', 'nats', 'restate']);
  await using database = await createTestDatabase();
  await using valkey = await startValkeyServer();
  // Two engines: gateways older than 2026-11-18 may send a request on a connection that llama-server closes.
  await using llama = await startLlama({ parallel: 4 });
  await using secondLlama = await startLlama({ parallel: 4 });
  const certificate = await makeCertificate('receiver', { addresses: [RECEIVER] });
  const trusted = path.join(folder, 'trusted.pem');
  writeFileSync(trusted, certificate.certificate);
  await using receiver = await startWebhookReceiver({ host: RECEIVER, certificate });
  const versions = await programsOf({
    database,
    valkey,
    endpoints,
    trusted,
    receiver: RECEIVER,
    roots: { older: other, newer: root },
  });
  const { older, newer } = versions;
  const tenant = await seedOrganisation(database.db);
  const operator = await seedOrganisation(database.db, { platformRole: 'operator' });
  await grantCredit(database.db, tenant.organisation.id, nanoUsd(100_000_000_000n));
  const { key: testKey } = await tenant.ownerKey('test');
  const failures: string[] = [];
  try {
    await older.start();
    await deployModel(older.apiUrl, operator.owner.key, [llama, secondLlama]);
    const load: Load = await createLoad({
      testKey,
      liveKey: tenant.owner.key,
      hook: `https://${RECEIVER}:${receiver.port}`,
      first: older,
    });
    const phase = async (name: string, change: () => Promise<void>): Promise<void> => {
      run.note(name);
      await change();
      await systemClock.sleep(PHASE_MS);
    };
    await phase('the older version alone', async () => undefined);
    await phase('both versions', () => enter(load, newer));
    await phase('the newer version alone', () => leave(load, older, failures));
    await phase('both versions again', () => enter(load, older));
    await phase('the older version alone again', () => leave(load, newer, failures));
    failures.push(...(await load.end()));
    const delivered = await waitForDeliveries(createRowReader(database));
    failures.push(...delivered.failures);
    failures.push(...(await waitForCharges(createRowReader(database), load.counts().chats)));
    for (const version of [older, newer]) failures.push(...version.errors());
    const { rentals, chats } = load.counts();
    return {
      figures: {
        'rentals created and terminated': rentals,
        'chats answered': chats,
        'events delivered': delivered.count,
      },
      failures,
    };
  } finally {
    await versions.end();
    await auditLedger(database.db);
  }
}

/** As a load balancer does: a version gets requests once it is ready, and no more before it is stopped. */
async function enter(load: Load, version: Version): Promise<void> {
  await version.start();
  load.add(version);
}

async function leave(load: Load, version: Version, failures: string[]): Promise<void> {
  load.remove(version);
  const codes = await version.stop();
  if (codes.some((code) => code !== 0)) failures.push(`${version.name} ended with ${codes.join(', ')}`);
}

/** A worker of either version must charge every answered chat. */
async function waitForCharges(rows: ReadRows, chats: number): Promise<string[]> {
  const countCharged = async (): Promise<number> => {
    const [found] = await rows<{ count: number }>(
      `select count(*)::int as count from inference_requests where outcome = 'charged'`,
    );
    return found?.count ?? 0;
  };
  const untilMs = systemClock.monotonicMs() + 60_000;
  let charged = await countCharged();
  while (charged < chats && systemClock.monotonicMs() < untilMs) {
    await systemClock.sleep(500);
    charged = await countCharged();
  }
  return charged === chats ? [] : [`${chats} chats were answered and ${charged} were charged.`];
}

async function waitForDeliveries(rows: ReadRows): Promise<{ count: number; failures: string[] }> {
  const read = async (): Promise<{ count: number; pending: number; failed: number }> => {
    const [found] = await rows<{ count: number; pending: number; failed: number }>(
      `select count(*)::int as count, count(*) filter (where status <> 'succeeded')::int as pending,
              count(*) filter (where failures > 0)::int as failed from webhook_deliveries`,
    );
    return found ?? { count: 0, pending: 0, failed: 0 };
  };
  const untilMs = systemClock.monotonicMs() + 60_000;
  let found = await read();
  while (found.pending > 0 && systemClock.monotonicMs() < untilMs) {
    await systemClock.sleep(500);
    found = await read();
  }
  const failures = [
    ...(found.pending > 0 ? [`${found.pending} of ${found.count} events were not delivered`] : []),
    ...(found.failed > 0 ? [`${found.failed} events were delivered only at a later attempt`] : []),
    ...(found.count === 0 ? ['no event was delivered'] : []),
  ];
  return { count: found.count, failures };
}
