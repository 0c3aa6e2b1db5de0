import { createDb } from '@millrace/platform/db';
import { createIdSource, toUuid, type OrgId } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import {
  createTenant,
  createTestDatabase,
  hybridClock,
  longDbTimeouts,
  insertRentals,
  insertSupplierMachine,
  testClock,
  type InsertedMachine,
  type InsertedRental,
  failingLoop,
  poisonRows,
  type Poison,
} from '@millrace/testing';
import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { findNode, transitionNode } from '../../fleet/index.ts';
import { readMachineHistory } from './quarantine-evidence.store.ts';
import { countByScore, countByStage, scoreBands } from './supplier-metrics.store.ts';
import { readReliability } from './reliability.store.ts';
import {
  deleteOldReliabilityDays,
  quarantineFaultyMachines,
  measureMachines,
  COMMIT_MARGIN_MS,
} from './reliability.service.ts';

let orgId: OrgId;
let machine: InsertedMachine;
let rentals: readonly InsertedRental[];

const database = await createTestDatabase();
const clock = testClock();
const log = createLogger({ name: 'trust', level: 'silent' });
const ids = createIdSource({ clock, cell: 1 });
const db = createDb({
  ...longDbTimeouts,
  url: database.url,
  poolSize: 6,
  clock: hybridClock(clock),
  ids,
  log,
});
const deps = { db, clock, log };
afterAll(async () => {
  await db.close();
  await database.drop();
});

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const FIRST_LOOK_MS = 10 * MINUTE_MS;

async function asOwner(text: string, values: readonly unknown[] = []): Promise<void> {
  await database.query(text, [...values]);
}

/** A machine enrolled at this instant of the simulated clock. */
async function enrol(org: OrgId): Promise<InsertedMachine> {
  const inserted = await insertSupplierMachine(db, { orgId: org, watchedAt: clock.now() });
  await asOwner(
    `update supplier_machines set joined_at = $1, enrolled_at = $1, tested_at = $1, tests = $3 where id = $2`,
    [clock.now(), toUuid(inserted.machineId), JSON.stringify(await testsOf(inserted))],
  );
  return inserted;
}

async function testsOf({ nodeId }: InsertedMachine): Promise<object> {
  const node = await findNode(db, nodeId);
  const gpus = (node?.gpus ?? []).map(({ pciAddress, model }) => ({ pciAddress, model }));
  return { hardware: { gpus, cpuCount: node?.cpuCount, ramMb: node?.ramMb } };
}

beforeEach(async () => {
  // Faults of earlier tests must not be recent.
  await clock.advance(HOUR_MS);
  ({ orgId } = await createTenant(database.db));
  machine = await enrol(orgId);
  const tenant = await createTenant(database.db);
  rentals = await insertRentals(db, {
    orgId: tenant.orgId,
    userId: tenant.ownerId,
    clusterId: machine.clusterId,
    nodeIds: [machine.nodeId],
    live: 4,
    kind: 'instance',
    brief: true,
    until: clock.now(),
  });
});

/** Advances the clock; the machine is observed during this time unless `watched` is false. */
async function pass(ms: number, watched = true): Promise<void> {
  await clock.advance(ms);
  if (watched)
    await asOwner('update clusters set beat_at = $1 where id = $2', [clock.now(), toUuid(machine.clusterId)]);
}

const within = <T>(work: Parameters<typeof db.transaction<T>>[1]): Promise<T> =>
  db.transaction({ name: 'test', isolation: 'read committed' }, work);

const move = (to: 'node_offline' | 'node_ready' | 'node_draining', kind: 'system' | 'operator' = 'system') =>
  within((tx) =>
    transitionNode(tx, machine.nodeId, to, { reason: 'by a test', actor: { kind, id: 'test' } }),
  );

async function fault(kind: 'start' | 'loss', agoMs = 0, nth = 0): Promise<void> {
  const at = new Date(clock.nowMs() - agoMs);
  const rental = rentals[nth] ?? expect.fail('There are not enough rentals.');
  await sql`insert into node_faults (node_id, at, rental_id, kind, reason)
    values (${toUuid(machine.nodeId)}, ${at}, ${toUuid(rental.id)}, ${kind}, 'The host could not create the machine.')`.execute(
    db.kysely,
  );
}

/** Records a successful start on the machine. */
async function start(agoMs: number, nth = 0): Promise<void> {
  const rental = rentals[nth] ?? expect.fail('There are not enough rentals.');
  await asOwner('update rentals set started_at = $1 where id = $2', [
    new Date(clock.nowMs() - agoMs),
    toUuid(rental.id),
  ]);
  await asOwner(
    `insert into instances (rental_id, org_id, mode, name, node_id, cluster_name, price_nano_usd_per_gpu_hour, fee_ppm, record)
     select id, org_id, mode, 'quiet-test-otter-' || wire_id, $1, 'planted', 1, 0, '{}' from rentals where id = $2
     on conflict do nothing`,
    [toUuid(machine.nodeId), toUuid(rental.id)],
  );
}

const trust = async () =>
  (await readReliability(db, orgId, [machine.machineId])).get(machine.machineId) ??
  expect.fail('The machine was not measured.');
const status = async () => (await findNode(db, machine.nodeId))?.status;

describe(failingLoop('measure machines of suppliers'), () => {
  it.each<Poison>(['throws', 'times out'])('whose write %s delays no other measurement', async (how) => {
    const bad = await enrol(orgId);
    await pass(HOUR_MS);
    const when = `new.machine_id = '${toUuid(bad.machineId)}' and new.measured_until > old_measured()`;
    await asOwner(`create or replace function old_measured() returns timestamptz language sql immutable
      as $$ select '${new Date(clock.nowMs() - MINUTE_MS * 30).toISOString()}'::timestamptz $$`);
    const removeFault = await poisonRows(database, { table: 'supplier_machine_trust', when, how });
    await measureMachines(deps, 100);
    await removeFault();
    expect((await trust()).figures.watchedMs).toBeGreaterThan(0);
    const measured = await readReliability(db, orgId, [bad.machineId]);
    expect(measured.get(bad.machineId)?.figures.watchedMs ?? 0).toBe(0);
  });
});

describe('measureMachines', () => {
  it('records the observed time and its part in which the machine was up', async () => {
    await pass(HOUR_MS);
    await move('node_offline');
    await pass(HOUR_MS);
    await move('node_ready');
    await pass(2 * HOUR_MS + COMMIT_MARGIN_MS);
    await measureMachines(deps, 100);
    const { figures, uptime, score } = await trust();
    expect(figures).toMatchObject({ watchedMs: 4 * HOUR_MS, upMs: 3 * HOUR_MS });
    expect(uptime).toBe(Math.floor(((3 + 24 * 0.9) / 28) * 1_000_000));
    expect(score).toBeLessThan(uptime);
  });

  it('records nothing for time in which the machine was not observed', async () => {
    await move('node_offline');
    await pass(5 * HOUR_MS, false);
    await measureMachines(deps, 100);
    expect((await trust()).figures).toMatchObject({ watchedMs: 0, upMs: 0 });
  });

  it('counts each measurement once under repeated and concurrent runs', async () => {
    await pass(MINUTE_MS);
    await fault('start');
    await pass(FIRST_LOOK_MS - MINUTE_MS);
    await Promise.all([measureMachines(deps, 100), measureMachines(deps, 100), measureMachines(deps, 100)]);
    await measureMachines(deps, 100);
    const first = (await trust()).figures;
    expect(first).toEqual({
      watchedMs: FIRST_LOOK_MS - COMMIT_MARGIN_MS,
      upMs: FIRST_LOOK_MS - COMMIT_MARGIN_MS,
      starts: 0,
      failedStarts: 1,
      losses: 0,
    });
    await pass(FIRST_LOOK_MS);
    await measureMachines(deps, 100);
    expect((await trust()).figures).toMatchObject({
      watchedMs: 2 * FIRST_LOOK_MS - COMMIT_MARGIN_MS,
      failedStarts: 1,
    });
  });

  it('counts faults that were committed after a run that covers their time', async () => {
    await pass(FIRST_LOOK_MS);
    await measureMachines(deps, 100);
    await fault('start', COMMIT_MARGIN_MS - 1_000);
    await pass(FIRST_LOOK_MS);
    await measureMachines(deps, 100);
    expect((await trust()).figures.failedStarts).toBe(1);
  });

  it('counts 30 days, and keeps days for 90', async () => {
    await pass(MINUTE_MS);
    await fault('loss');
    await pass(FIRST_LOOK_MS);
    await measureMachines(deps, 100);
    expect((await trust()).figures.losses).toBe(1);
    await pass(31 * 24 * HOUR_MS, false);
    await measureMachines(deps, 100);
    expect((await trust()).figures.losses).toBe(0);
    const days = () =>
      sql<{
        count: bigint;
      }>`select count(*) from supplier_machine_days where machine_id = ${toUuid(machine.machineId)}`
        .execute(db.kysely)
        .then(({ rows }) => Number(rows[0]?.count ?? 0n));
    expect(await days()).toBe(2);
    await clock.advance(60 * 24 * HOUR_MS);
    await deleteOldReliabilityDays(deps, 1_000);
    expect(await days()).toBe(1);
  });

  it('is readable only for the machine’s own supplier', async () => {
    await pass(FIRST_LOOK_MS);
    await measureMachines(deps, 100);
    const other = await createTenant(database.db);
    expect((await readReliability(db, other.orgId, [machine.machineId])).size).toBe(0);
    expect(await readMachineHistory(db, other.orgId, machine.nodeId, 10)).toEqual([]);
  });
});

describe(failingLoop('judge machines of suppliers'), () => {
  it.each<Poison>(['throws', 'times out'])('whose write %s delays no other check', async (how) => {
    const good = machine;
    const bad = await enrol(orgId);
    await pass(MINUTE_MS);
    for (const one of [bad, good]) {
      machine = one;
      for (const nth of [0, 1, 2]) await fault('start', nth * 1_000, nth);
    }
    const when = `new.id = '${toUuid(bad.nodeId)}'`;
    const removeFault = await poisonRows(database, { table: 'nodes', when, how });
    expect(await quarantineFaultyMachines(deps)).toBe(1);
    await removeFault();
    expect(await status()).toBe('node_quarantined');
    await pass(MINUTE_MS);
    expect(await quarantineFaultyMachines(deps)).toBe(1);
    expect((await findNode(db, bad.nodeId))?.status).toBe('node_quarantined');
  });
});

describe('quarantineFaultyMachines', () => {
  const failThrice = async () => {
    for (const nth of [0, 1, 2]) {
      await pass(MINUTE_MS);
      await fault('start', 0, nth);
    }
  };

  it('quarantines at the third consecutive failed start, notifies the supplier and prevents placements', async () => {
    await pass(MINUTE_MS);
    await fault('start', 0, 0);
    await fault('start', 1_000, 1);
    expect(await quarantineFaultyMachines(deps)).toBe(0);
    await fault('start', 2_000, 2);
    const counts = await Promise.all([quarantineFaultyMachines(deps), quarantineFaultyMachines(deps)]);
    expect(counts.reduce((sum, taken) => sum + taken)).toBe(1);
    expect(await quarantineFaultyMachines(deps)).toBe(0);
    const node = await findNode(db, machine.nodeId);
    expect(node).toMatchObject({ status: 'node_quarantined', placeable: false });
    expect(node?.statusReason).toContain('3 machines in a row failed to start');
    const { rows: events } = await sql<{ resource_id: string }>`
      select resource_id from outbox where org_id = ${toUuid(orgId)} and type = 'machine.quarantined'
    `.execute(db.kysely);
    expect(events).toEqual([{ resource_id: machine.nodeId }]);
    const [newest] = await readMachineHistory(db, orgId, machine.nodeId, 1);
    expect(newest).toMatchObject({ kind: 'state', status: 'node_quarantined' });
  });

  it('does not quarantine after a successful start in between', async () => {
    await pass(MINUTE_MS);
    await fault('start', 3_000, 0);
    await fault('start', 2_000, 1);
    await start(1_000, 3);
    await fault('start', 0, 2);
    expect(await quarantineFaultyMachines(deps)).toBe(0);
    expect(await status()).toBe('node_ready');
  });

  it('ignores faults from before an operator resumed the machine', async () => {
    await failThrice();
    expect(await quarantineFaultyMachines(deps)).toBe(1);
    await pass(MINUTE_MS);
    await move('node_ready', 'operator');
    expect(await quarantineFaultyMachines(deps)).toBe(0);
    expect(await status()).toBe('node_ready');
    await failThrice();
    expect(await quarantineFaultyMachines(deps)).toBe(1);
    await pass(FIRST_LOOK_MS);
    await measureMachines(deps, 100);
    expect((await trust()).quarantines).toBe(2);
  });

  it('ignores machines that were withdrawn', async () => {
    await asOwner(`update supplier_machines set stage = 'withdrawn', withdrawn_at = $1 where id = $2`, [
      clock.now(),
      toUuid(machine.machineId),
    ]);
    await failThrice();
    expect(await quarantineFaultyMachines(deps)).toBe(0);
  });
});

it('quarantines after two losses, and after six outages in a day', async () => {
  await pass(MINUTE_MS);
  await fault('loss', 0, 0);
  expect(await quarantineFaultyMachines(deps)).toBe(0);
  await fault('loss', 1_000, 1);
  expect(await quarantineFaultyMachines(deps)).toBe(1);

  machine = await enrol(orgId);
  for (let outage = 0; outage < 6; outage += 1) {
    await pass(30 * MINUTE_MS);
    await move('node_offline');
    await pass(MINUTE_MS);
    await move('node_ready');
  }
  await pass(FIRST_LOOK_MS);
  await measureMachines(deps, 100);
  expect((await findNode(db, machine.nodeId))?.statusReason).toBe(
    'The machine went offline 6 times within a day.',
  );
});

describe('quarantine for changed hardware', () => {
  it('names the difference, and ends when an operator resumes the machine', async () => {
    await pass(HOUR_MS);
    await asOwner('update nodes set cpu_count = 8, hardware_read_at = $1 where id = $2', [
      clock.now(),
      toUuid(machine.nodeId),
    ]);
    await pass(FIRST_LOOK_MS);
    await measureMachines(deps, 100);
    const node = await findNode(db, machine.nodeId);
    expect(node?.statusReason).toBe(
      'The hardware differs from the tested hardware: 8 threads instead of 192.',
    );
    await pass(MINUTE_MS);
    await move('node_ready', 'operator');
    await pass(FIRST_LOOK_MS);
    await measureMachines(deps, 100);
    expect(await status()).toBe('node_ready');
  });

  it('does not happen while the hardware is the same', async () => {
    await asOwner('update nodes set hardware_read_at = $1 where id = $2', [
      new Date(clock.nowMs() + 1_000),
      toUuid(machine.nodeId),
    ]);
    await pass(FIRST_LOOK_MS);
    await measureMachines(deps, 100);
    expect(await status()).toBe('node_ready');
  });
});

it('countByStage and countByScore count machines by stage and by band of the score', async () => {
  await pass(FIRST_LOOK_MS);
  await measureMachines(deps, 100);
  const byStage = await countByStage(db);
  expect(byStage.get('enrolled')).toBeGreaterThan(0);
  const byScore = await countByScore(db);
  expect(byScore).toHaveLength(scoreBands.length);
  expect(byScore.reduce((sum, machines) => sum + machines)).toBe(byStage.get('enrolled'));
  const { score } = await trust();
  const band = scoreBands.findIndex((below) => score < below);
  expect(byScore[band]).toBeGreaterThan(0);
});
