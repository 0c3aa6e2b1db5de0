import type { ComputeDriver, MachineMetrics } from '@millrace/compute';
import { toUuid } from '@millrace/platform/ids';
import { systemClock } from '@millrace/platform/clock';
import { failingCall, failingLoop, poisonRows, type ItemPoison, type Poison } from '@millrace/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defaultMonitoring } from './idleness.ts';
import { insertRunningRental } from './idleness.fixture.ts';
import { readMetrics } from './metrics.service.ts';
import {
  createRentalHarness,
  DAY_MS,
  quiet,
  SECOND_MS,
  type RentalHarness,
  type Tenant,
} from '../model/rental.fixture.ts';
import type { Rental } from '../model/rental.ts';
import { expireSamples, sampleDueShards, type IdleRental, type SamplingDeps } from './sampling.service.ts';

let harness: RentalHarness;
let tenant: Tenant;
beforeEach(async () => {
  harness = await createRentalHarness({ portListeners: false });
  tenant = await harness.tenant();
});
afterEach(() => harness.drop());

/** Metrics that the test defines for each machine. */
type Measured = Partial<MachineMetrics> | 'silent';
const nothing: Omit<MachineMetrics, 'at'> = {
  cpuSeconds: 0,
  ramUsedBytes: 0,
  diskUsedBytes: 0,
  networkInBytes: 0,
  networkOutBytes: 0,
  gpus: [{ pciAddress: '0000:10:00.0', utilisationPercent: 0 }],
};

function depsOf(measure: (externalId: string) => Measured, fields: Partial<SamplingDeps> = {}): SamplingDeps {
  const metrics = async ({ externalId }: { externalId: string }): Promise<MachineMetrics> => {
    const measured = measure(externalId);
    if (measured === 'silent') throw new Error('The machine does not respond.');
    return { at: harness.clock.now(), ...nothing, ...measured };
  };
  const drivers: SamplingDeps['drivers'] = async (clusterId) =>
    new Proxy(await harness.drivers(clusterId), {
      get: (target, name): unknown => (name === 'metrics' ? metrics : Reflect.get(target, name, target)),
    }) satisfies ComputeDriver;
  const onIdle = async (): Promise<void> => undefined;
  return { db: harness.db, clock: systemClock, log: quiet, drivers, onIdle, ...fields };
}

async function sample(deps: SamplingDeps): Promise<void> {
  const { signal } = new AbortController();
  while ((await sampleDueShards(deps, signal)) === 'busy');
}

const shortPolicy = { ...defaultMonitoring, roundTimeoutMs: 6_000 };
const taken = () =>
  harness.rows<{ rental_id: string; at: Date; cpu_seconds: number }>(
    'select rental_id, at, cpu_seconds from rental_samples order by at, rental_id',
  );

describe('sampling', () => {
  it('samples monitored machines that are on, once per 30 seconds with any number of workers', async () => {
    const [watched, ruled] = [
      await insertRunningRental(harness, tenant, { monitoring: true }),
      await insertRunningRental(harness, tenant, { idle: { afterSeconds: 300, action: 'stop' } }),
    ];
    await insertRunningRental(harness, tenant, {});
    await insertRunningRental(harness, tenant, { monitoring: true, power: 'off' });
    const deps = depsOf(() => ({ cpuSeconds: 1 }));
    await Promise.all([sample(deps), sample(deps), sample(deps)]);
    const found = await taken();
    expect(found.map((row) => row.rental_id).toSorted()).toEqual(
      [watched, ruled].map(({ id }) => toUuid(id)).toSorted(),
    );
    await harness.clock.advance(29 * SECOND_MS);
    await sample(deps);
    expect(await taken()).toHaveLength(2);
    await harness.clock.advance(SECOND_MS);
    await sample(deps);
    expect(await taken()).toHaveLength(4);
  });

  it('is not blocked by machines that do not respond or report implausible values', async () => {
    const mute = await insertRunningRental(harness, tenant, { monitoring: true });
    const mad = await insertRunningRental(harness, tenant, { monitoring: true });
    const sane = await insertRunningRental(harness, tenant, { monitoring: true });
    const deps = depsOf((externalId) => {
      if (externalId === toUuid(mute.id)) return 'silent';
      if (externalId !== toUuid(mad.id)) return { cpuSeconds: 5 };
      const gpus = [{ pciAddress: '0000:10:00.0', utilisationPercent: 1e300 }];
      return { cpuSeconds: Number.NaN, ramUsedBytes: -1, networkInBytes: Number.POSITIVE_INFINITY, gpus };
    });
    await sample(deps);
    const found = await taken();
    expect(found).toHaveLength(2);
    expect(found.find((row) => row.rental_id === toUuid(sane.id))?.cpu_seconds).toBe(5);
    expect(found.find((row) => row.rental_id === toUuid(mad.id))?.cpu_seconds).toBeNull();
  });

  describe(failingLoop('sample machines'), () => {
    it.each<ItemPoison>(['throws', 'hangs'])('whose engine %s does not delay other clusters', async (how) => {
      await insertRunningRental(harness, tenant, { monitoring: true });
      const other = await insertRunningRental(harness, tenant, { monitoring: true, mode: 'test' });
      const stuck = depsOf(() => ({}));
      const drivers: SamplingDeps['drivers'] = (clusterId) =>
        clusterId === harness.engines.live.clusterId
          ? failingCall(how === 'hangs' ? how : 'throws')
          : stuck.drivers(clusterId);
      await sample({ ...stuck, drivers, policy: shortPolicy });
      expect((await taken()).map((row) => row.rental_id)).toEqual([toUuid(other.id)]);
    });

    it('is sampled less often while it fails, and again after it recovers', async () => {
      const failing = await insertRunningRental(harness, tenant, { monitoring: true });
      const other = await insertRunningRental(harness, tenant, { monitoring: true, mode: 'test' });
      const sound = depsOf(() => ({}));
      let calls = 0;
      let isAway = true;
      const drivers: SamplingDeps['drivers'] = (clusterId) => {
        if (clusterId !== harness.engines.live.clusterId) return sound.drivers(clusterId);
        calls += 1;
        return isAway ? failingCall('throws') : sound.drivers(clusterId);
      };
      const countOf = async (rental: Rental): Promise<number> =>
        (await taken()).filter((row) => row.rental_id === toUuid(rental.id)).length;
      for (let round = 0; round < 20; round += 1) {
        await sample({ ...sound, drivers });
        await harness.clock.advance(30 * SECOND_MS);
      }
      expect(await countOf(other)).toBe(20);
      expect(calls).toBeGreaterThan(2);
      expect(calls).toBeLessThan(10);
      isAway = false;
      await harness.clock.advance(300 * SECOND_MS);
      await sample({ ...sound, drivers });
      expect(await countOf(failing)).toBe(1);
    });
  });

  describe(failingLoop('keep samples'), () => {
    it.each<Poison>(['throws', 'times out'])(
      'whose write %s does not block samples of other organisations',
      async (how) => {
        const bad = await harness.tenant();
        const failing = await insertRunningRental(harness, bad, { monitoring: true });
        const good = [
          await insertRunningRental(harness, tenant, { monitoring: true }),
          await insertRunningRental(harness, tenant, { monitoring: true }),
        ];
        const when = `new.org_id = '${toUuid(bad.orgId)}'`;
        const removeFault = await poisonRows(harness.database, { table: 'rental_samples', when, how });
        const deps = depsOf(() => ({}));
        await sample(deps);
        const ids = async () => (await taken()).map((row) => row.rental_id).toSorted();
        expect(await ids()).toEqual(good.map(({ id }) => toUuid(id)).toSorted());
        const listed = `select item, failures from loop_items where loop = 'keep samples'`;
        expect(await harness.rows(listed)).toEqual([{ item: toUuid(failing.id), failures: 1 }]);
        await removeFault();
        await harness.clock.advance(60 * SECOND_MS);
        await sample(deps);
        expect(await ids()).toContain(toUuid(failing.id));
        expect(await harness.rows(listed)).toEqual([]);
      },
    );
  });

  it('keeps samples for seven days and deletes whole days, also after a long time without workers', async () => {
    const rental = await insertRunningRental(harness, tenant, { monitoring: true });
    const deps = depsOf(() => ({}));
    for (let day = 0; day < 10; day += 1) {
      await sample(deps);
      await harness.clock.advance(DAY_MS);
      await expireSamples(harness.db);
    }
    const stored = await taken();
    expect(stored).toHaveLength(7);
    expect(stored[0]?.at).toEqual(new Date(harness.clock.nowMs() - 7 * DAY_MS));
    await harness.clock.advance(9 * 10 * DAY_MS);
    await sample(deps);
    while ((await expireSamples(harness.db)) > 0);
    expect((await taken()).map(({ at }) => at)).toEqual([harness.clock.now()]);
    expect(rental.status).toBe('Running');
  });
});

describe('execution of idle rules', () => {
  const rule = { afterSeconds: 300, action: 'terminate' } as const;
  async function watch(rounds: number, deps: SamplingDeps): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      await harness.clock.advance(30 * SECOND_MS);
      await sample(deps);
    }
  }

  it('happens after the idle time and not while the rental is busy', async () => {
    const lazy = await insertRunningRental(harness, tenant, { idle: rule });
    const busy = await insertRunningRental(harness, tenant, { idle: rule });
    const idled: IdleRental[] = [];
    let worked = 0;
    const deps = depsOf(
      (externalId) => (externalId === toUuid(busy.id) ? { cpuSeconds: (worked += 30) } : {}),
      { onIdle: async (rental) => void idled.push(rental) },
    );
    await watch(10, deps);
    expect(idled).toEqual([]);
    await watch(1, deps);
    const { orgId } = tenant;
    expect(idled).toEqual([{ rentalId: lazy.id, orgId, mode: 'live', rule }]);
  });

  it('restarts the idle time after a gap or a machine that does not respond', async () => {
    const rental: Rental = await insertRunningRental(harness, tenant, { idle: rule });
    const idled: IdleRental[] = [];
    let isSilent = false;
    const deps = depsOf(() => (isSilent ? 'silent' : {}), {
      onIdle: async (found) => void idled.push(found),
    });
    await watch(10, deps);
    isSilent = true;
    await watch(5, deps);
    isSilent = false;
    await watch(10, deps);
    expect(idled).toEqual([]);
    await watch(1, deps);
    expect(idled.map(({ rentalId }) => rentalId)).toEqual([rental.id]);
  });

  it('is not blocked by a rule that fails', async () => {
    await insertRunningRental(harness, tenant, { idle: rule });
    await insertRunningRental(harness, tenant, { idle: rule });
    let tried = 0;
    const deps = depsOf(() => ({}), {
      onIdle: async () => {
        tried += 1;
        throw new Error('The rental is already being stopped.');
      },
    });
    await watch(11, deps);
    expect(tried).toBe(2);
  });
});

describe(failingLoop('carry out idle rules'), () => {
  it.each<ItemPoison>(['throws', 'hangs'])(
    'that %s does not delay the rules of other rentals, and is retried',
    async (how) => {
      const rule = { afterSeconds: 300, action: 'stop' } as const;
      const bad = await insertRunningRental(harness, tenant, { idle: rule });
      const good = await Promise.all(
        Array.from({ length: 3 }, () => insertRunningRental(harness, tenant, { idle: rule })),
      );
      const tried: string[] = [];
      let isHealed = false;
      const deps = depsOf(() => ({}), {
        // Only the deadlines of rules use this clock here.
        clock: harness.clock,
        onIdle: ({ rentalId }) => {
          tried.push(rentalId);
          if (rentalId !== bad.id || isHealed) return Promise.resolve();
          return failingCall(how === 'hangs' ? how : 'throws');
        },
      });
      for (let round = 0; round < 10; round += 1) {
        await harness.clock.advance(30 * SECOND_MS);
        await sample(deps);
      }
      expect(tried).toEqual([]);
      await harness.clock.advance(30 * SECOND_MS);
      const sampling = sample(deps);
      const all = [bad, ...good].map(({ id }) => id).toSorted();
      await expect.poll(() => tried.toSorted()).toEqual(all);
      // Longer than the deadline of a rule, and shorter than the time until the next round.
      if (how === 'hangs') await harness.clock.advance(29 * SECOND_MS);
      await sampling;
      const failing = `select item from loop_items where loop = 'carry out idle rules'`;
      expect(await harness.rows(failing)).toEqual([{ item: toUuid(bad.id) }]);
      isHealed = true;
      await harness.clock.advance(30 * SECOND_MS);
      await sample(deps);
      expect(tried.filter((id) => id === bad.id)).toHaveLength(2);
      expect(await harness.rows(failing)).toEqual([]);
    },
  );
});

describe('rental metrics', () => {
  const gpus = (percent: number | null) => [{ pciAddress: '0000:10:00.0', utilisationPercent: percent }];

  it('are rates of counters, means of levels, and null if not measured', async () => {
    const rental = await insertRunningRental(harness, tenant, { monitoring: true });
    let [cpuSeconds, received, ram] = [1_000, 5_000, 100];
    const deps = depsOf(() => ({
      cpuSeconds: (cpuSeconds += 30 * 12),
      networkInBytes: (received += 30 * 700),
      networkOutBytes: null,
      ramUsedBytes: (ram += 100),
      gpus: gpus(ram > 300 ? 40 : null),
    }));
    for (let round = 0; round < 4; round += 1) {
      await sample(deps);
      await harness.clock.advance(30 * SECOND_MS);
    }
    await harness.clock.advance(60 * SECOND_MS);
    const request = { orgId: tenant.orgId, mode: 'live', wireId: rental.wireId, stepSeconds: 60 } as const;
    const from = new Date(harness.clock.nowMs() - 180 * SECOND_MS);
    const got = await readMetrics(harness.db, { ...request, from }, harness.clock.now());
    const shown = Object.fromEntries(
      got.series.map(({ name, points }) => [name, points.map(({ value }) => value)]),
    );
    expect(got).toMatchObject({ from, until: harness.clock.now(), stepSeconds: 60 });
    // 12 of 48 cores; the first sample has no predecessor.
    expect(shown).toEqual({
      'cpu.utilisation': [25, 25, null],
      'memory.used': [250, 450, null],
      'disk.used': [0, 0, null],
      'network.received': [700, 700, null],
      'network.sent': [null, null, null],
      'gpu.utilisation': [null, 40, null],
    });
    const gpu = got.series.find(({ name }) => name === 'gpu.utilisation');
    expect(gpu?.device).toBe('0000:10:00.0');
  });

  it('omit GPUs that the engine does not report, and rates across a restart or gap', async () => {
    const rental = await insertRunningRental(harness, tenant, { monitoring: true });
    let cpuSeconds = 10_000;
    const deps = depsOf(() => ({ cpuSeconds, gpus: null }));
    const step = async (ms: number, counted: number): Promise<void> => {
      await harness.clock.advance(ms);
      cpuSeconds = counted;
      await sample(deps);
    };
    await step(0, 10_000);
    await step(60 * SECOND_MS, 10_060);
    await step(60 * SECOND_MS, 60);
    await step(60 * SECOND_MS, 120);
    await step(180 * SECOND_MS, 300);
    const request = { orgId: tenant.orgId, mode: 'live', wireId: rental.wireId, stepSeconds: 60 } as const;
    const now = new Date(harness.clock.nowMs() + 60 * SECOND_MS);
    const got = await readMetrics(
      harness.db,
      { ...request, from: new Date(now.getTime() - 420 * SECOND_MS) },
      now,
    );
    const cpu = got.series.find(({ name }) => name === 'cpu.utilisation')?.points;
    const share = (cores: number): unknown => expect.closeTo((100 * cores) / 48, 6);
    expect(cpu?.map(({ value }) => value)).toEqual([null, share(1), null, share(1), null, null, null]);
    expect(got.series.map(({ name }) => name)).not.toContain('gpu.utilisation');
  });

  it('default to the last hour, and are rejected above the point limit', async () => {
    const { wireId } = await insertRunningRental(harness, tenant, { monitoring: true });
    const request = { orgId: tenant.orgId, mode: 'live', wireId, stepSeconds: 60 } as const;
    const now = harness.clock.now();
    const got = await readMetrics(harness.db, request, now);
    expect(got.series[0]?.points).toHaveLength(60);
    const from = new Date(now.getTime() - 7 * DAY_MS);
    await expect(readMetrics(harness.db, { ...request, from, stepSeconds: 10 }, now)).rejects.toMatchObject({
      reason: 'VALIDATION_FAILED',
      issues: [{ path: ['stepSeconds'], message: expect.stringContaining('use 310 or more') }],
    });
    await expect(readMetrics(harness.db, { ...request, from: now }, now)).rejects.toMatchObject({
      reason: 'VALIDATION_FAILED',
    });
  });

  it('return 404 to other organisations and to keys of the other mode', async () => {
    const { wireId } = await insertRunningRental(harness, tenant, { monitoring: true });
    const other = await harness.tenant();
    const now = harness.clock.now();
    for (const caller of [
      { orgId: other.orgId, mode: 'live' },
      { orgId: tenant.orgId, mode: 'test' },
    ] as const) {
      await expect(
        readMetrics(harness.db, { ...caller, wireId, stepSeconds: 60 }, now),
      ).rejects.toMatchObject({
        reason: 'RENTAL_NOT_FOUND',
      });
    }
  });
});
