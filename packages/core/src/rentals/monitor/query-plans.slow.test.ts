import type { ComputeDriver } from '@millrace/compute';
import { createMockDriver, createInMemoryStore } from '@millrace/compute/mock';
import { systemClock } from '@millrace/platform/clock';
import { toUuid } from '@millrace/platform/ids';
import {
  createTenant,
  createTestDatabase,
  databaseWithClock,
  explainGenericPlan,
  insertFleet,
  insertRentals,
  recordStatements,
  testLog,
  type InsertedRental,
  type TestDatabase,
  startStopwatch,
  scaledLimitMs,
} from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deleteOldConsoles } from './console.service.ts';
import { readMetrics, type MetricsRequest } from './metrics.service.ts';
import { expireSamples, sampleDueShards } from './sampling.service.ts';

/** Rentals of a cell, monitored rentals, and rentals with a week of samples. */
const RENTALS = 20_000;
const WATCHED = 640;
const SAMPLED = 20;
const SECONDS_A_WEEK = 604_800;

let database: TestDatabase;
let request: MetricsRequest;
beforeAll(async () => {
  database = await createTestDatabase({ statementTimeoutMs: 120_000 });
  const { db } = database;
  const fleet = await insertFleet(db, { nodes: 100 });
  const { orgId, ownerId: userId } = await createTenant(db);
  const rentals = await insertRentals(db, { ...fleet, orgId, userId, live: RENTALS, brief: true });
  const client = await database.connect();
  const watched = rentals.slice(-WATCHED).map(({ id }) => toUuid(id));
  await client.query(
    `update rentals set monitoring = true, idle_after_seconds = 3600, idle_action = 'stop' where id = any($1)`,
    [watched],
  );
  await client.query(
    `insert into rental_samples (slot, rental_id, attempt, position, org_id, mode, at, cpu_seconds, gpu_addresses, gpu_percents)
     select (extract(epoch from at)::bigint / 86400) % 9, rental, 1, 1, $2, 'live', at, 1, array['0000:10:00.0'], array[50]
       from unnest($1::uuid[]) as rental,
            generate_series(now() - $3 * interval '1 second', now() + interval '1 day', interval '2 minutes') as at`,
    [watched.slice(0, SAMPLED), toUuid(orgId), SECONDS_A_WEEK],
  );
  await client.query(
    `insert into rental_consoles (rental_id, attempt, position, org_id, mode, read_at)
     select id, 1, 1, org_id, mode, now() from rentals limit 5000`,
  );
  await client.query(
    `insert into rental_idleness (rental_id, org_id, mode, sampled_at, idle_since, counters)
     select id, org_id, mode, now(), now(), '[]' from rentals limit 5000`,
  );
  await client.query('vacuum analyze');
  await client.end();
  const { wireId } = rentals.at(-WATCHED) as InsertedRental;
  request = { orgId, mode: 'live', wireId, stepSeconds: 600 };
});
afterAll(() => database.drop());

/** Lists statements whose cost grows with unrelated rows. */
async function waste(work: () => Promise<unknown>): Promise<readonly string[]> {
  const client = await database.connect();
  const found: string[] = [];
  try {
    for (const sent of await recordStatements(work)) {
      for (const node of await explainGenericPlan(client, sent)) {
        const relation = node['Relation Name'] ?? '';
        const isScan = node['Node Type'] === 'Seq Scan' && /^(rental|meters|events)/.test(relation);
        const passedOver = (node['Rows Removed by Filter'] ?? 0) * (node['Actual Loops'] ?? 1);
        if (isScan) found.push(`reads all of ${relation}: ${sent.text}`);
        if (passedOver > WATCHED) found.push(`passes over ${passedOver} rows of ${relation}: ${sent.text}`);
      }
    }
  } finally {
    await client.end();
  }
  return found;
}

const driver: ComputeDriver = new Proxy(
  createMockDriver({ cluster: 'mock', clock: systemClock, memory: createInMemoryStore(), listen: null }),
  {
    get: (target, name): unknown =>
      name === 'metrics'
        ? async () => ({ at: new Date(), cpuSeconds: 1, networkInBytes: 1, networkOutBytes: 1, gpus: [] })
        : Reflect.get(target, name, target),
  },
);

describe('with 20 000 rentals', () => {
  it('a sampling round reads only monitored rentals', async () => {
    const { db } = database;
    const deps = { db, clock: systemClock, log: testLog('plans'), drivers: async () => driver };
    const onIdle = async (): Promise<void> => undefined;
    const { signal } = new AbortController();
    expect(await waste(() => sampleDueShards({ ...deps, onIdle }, signal))).toEqual([]);
  });

  it('metrics of a rental read only its samples of the requested days', async () => {
    const now = new Date();
    expect(await waste(() => readMetrics(database.db, request, now))).toEqual([]);
    const from = new Date(now.getTime() - SECONDS_A_WEEK * 1_000);
    expect(await waste(() => readMetrics(database.db, { ...request, from }, now))).toEqual([]);
  });

  it('expiry finds old rows without reading newer ones', async () => {
    const now = new Date();
    expect(await waste(() => deleteOldConsoles(databaseWithClock(database.db, now)))).toEqual([]);
    const stopwatch = startStopwatch();
    expect(await expireSamples(databaseWithClock(database.db, now))).toBe(0);
    expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(2_000));
  });
});
