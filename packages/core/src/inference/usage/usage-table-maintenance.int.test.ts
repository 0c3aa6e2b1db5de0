import { SimulatedClock } from '@millrace/platform/clock';
import { createIdSource, toUuid } from '@millrace/platform/ids';
import { createOrganisation, createTestDatabase, databaseWithClock, insertRequest } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { maintainUsageTables } from './usage-table-maintenance.ts';

const dayMs = 86_400_000;
const nowMs = Date.now();
const database = await createTestDatabase();
afterAll(() => database.drop());

async function query<Row>(text: string): Promise<Row[]> {
  return (await database.query(text)).rows as Row[];
}

const idAt = (ms: number) => createIdSource({ clock: new SimulatedClock(ms), cell: 1 }).next('req');
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10).replaceAll('-', '');

async function partitionOf(id: ReturnType<typeof idAt>): Promise<string> {
  const [row] = await query<{ name: string }>(
    `select tableoid::regclass::text as name from inference_requests where id = '${toUuid(id)}'`,
  );
  return row?.name ?? expect.fail('no row');
}

describe('the daily partitions of usage', () => {
  it('are left to the worker that is already creating them', async () => {
    const other = await database.connect();
    try {
      await other.query(`begin; select pg_advisory_xact_lock(hashtextextended('make_usage_partitions', 0))`);
      // Far from the days of the other tests.
      const clock = new SimulatedClock(nowMs + 100 * dayMs);
      await maintainUsageTables(databaseWithClock(database.db, clock));
      const [made] = await query(`select to_regclass('usage_charges_${dayOf(clock.nowMs())}')::text as name`);
      expect(made).toEqual({ name: null });
    } finally {
      await other.end();
    }
  });

  it('are created ahead once by concurrent workers, and take over earlier rows', async () => {
    const orgId = await createOrganisation(database.db);
    const [early, next] = [idAt(nowMs), idAt(nowMs + dayMs)];
    await insertRequest(database.db, { orgId, id: early });
    expect(await partitionOf(early)).toBe('inference_requests_rest');

    const clock = new SimulatedClock(nowMs);
    await Promise.all([1, 2, 3].map(() => maintainUsageTables(databaseWithClock(database.db, clock))));
    expect(await partitionOf(early)).toBe(`inference_requests_${dayOf(nowMs)}`);
    await insertRequest(database.db, { orgId, id: next });
    expect(await partitionOf(next)).toBe(`inference_requests_${dayOf(nowMs + dayMs)}`);

    const days = await query<{ name: string }>(`
      select inhrelid::regclass::text as name from pg_inherits
       where inhparent in ('usage_charges'::regclass, 'inference_requests'::regclass) order by 1`);
    expect(days.length).toBe(2 * (9 + 1));
    await clock.advance(dayMs);
    await maintainUsageTables(databaseWithClock(database.db, clock));
    expect((await query(`select from pg_inherits where inhparent = 'usage_charges'::regclass`)).length).toBe(
      11,
    );
  });

  it('contain the first and the last millisecond of their day', async () => {
    const orgId = await createOrganisation(database.db);
    const midnightMs = Math.floor(nowMs / dayMs) * dayMs;
    for (const ms of [midnightMs - 1, midnightMs, midnightMs + dayMs - 1, midnightMs + dayMs]) {
      const id = idAt(ms);
      await insertRequest(database.db, { orgId, id });
      expect(await partitionOf(id)).toBe(`inference_requests_${dayOf(ms)}`);
    }
  });

  it('have a default partition for ids of any other time', async () => {
    const orgId = await createOrganisation(database.db);
    for (const ms of [0, nowMs + 4_000 * dayMs]) {
      const id = idAt(ms);
      await insertRequest(database.db, { orgId, id });
      expect(await partitionOf(id)).toBe('inference_requests_rest');
    }
  });

  it('are the only tables that the application role can create', async () => {
    const client = await database.connect();
    await client.query('set role millrace_app');
    const day = dayOf(nowMs);
    for (const statement of [
      `drop table inference_requests_${day}`,
      `select * from inference_requests_${day}`,
      `insert into usage_charges_${day} select * from usage_charges`,
      `select make_usage_partitions(current_date - 1000, 1)`,
      `select make_usage_partitions(current_date, 1000)`,
      `update inference_requests set cost_nano_usd = 0`,
      `delete from inference_requests`,
      `delete from usage_charges`,
    ]) {
      await expect(client.query(statement), statement).rejects.toMatchObject({
        code: expect.stringMatching(/^(42501|22023)$/),
      });
    }
    await client.end();
  });

  it('are found by the id alone', async () => {
    const id = toUuid(idAt(nowMs));
    const plan = await query<{ 'QUERY PLAN': string }>(
      `explain select cost_nano_usd from inference_requests where id = any (array['${id}']::uuid[])`,
    );
    const text = plan.map((line) => line['QUERY PLAN']).join('\n');
    expect(text).toContain(`inference_requests_${dayOf(nowMs)}`);
    expect(text.match(/inference_requests_\d{8}_pkey|on inference_requests_\w+/g)?.length).toBeLessThan(3);
  });
});
