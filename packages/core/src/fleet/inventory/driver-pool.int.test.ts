import { isDriverError, type ComputeDriver } from '@millrace/compute';
import { createMockDriver, createInMemoryStore } from '@millrace/compute/mock';
import type { ClusterId } from '@millrace/platform/ids';
import { testIds } from '@millrace/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFleetHarness, silentLogger, type FleetHarness } from '../fleet.fixture.ts';
import { createDriverPool, type ClusterConnection, type DriverPool, type DriverPoolDeps } from '../index.ts';

let harness: FleetHarness;
let id: ClusterId;
let made: ClusterConnection[];
beforeEach(async () => {
  harness = await createFleetHarness();
  await harness.configure('one', 'two');
  id = await harness.clusterId('one');
  made = [];
});
afterEach(() => harness.drop());

function newDriver(cluster: ClusterConnection): ComputeDriver {
  made.push(cluster);
  const { clock } = harness;
  return createMockDriver({ cluster: cluster.name, clock, memory: createInMemoryStore(), listen: null });
}

function poolOf(deps: Partial<DriverPoolDeps> = {}): DriverPool {
  return createDriverPool({
    db: harness.db,
    log: silentLogger,
    connect: async (each) => newDriver(each),
    ...deps,
  });
}

const responses = async (driver: ComputeDriver): Promise<boolean> =>
  driver.readInventory(new AbortController().signal).then(
    () => true,
    (error: unknown) => {
      expect(isDriverError(error, 'unavailable')).toBe(true);
      return false;
    },
  );

describe('driver pool', () => {
  it('creates one driver per cluster for any number of concurrent callers', async () => {
    const pool = poolOf();
    const got = await Promise.all(Array.from({ length: 20 }, () => pool.of(id)));
    expect(new Set(got).size).toBe(1);
    expect(await pool.of(id)).toBe(got[0]);
    const other = await pool.of(await harness.clusterId('two'));
    expect(other).not.toBe(got[0]);
    expect(made.map(({ name }) => name)).toEqual(['one', 'two']);
    await pool.close();
  });

  it.each([
    ['endpoint', `endpoint = 'https://elsewhere:8443'`],
    ['settings', `settings = '{"network": "other"}'`],
    ['credential', `credential_ref = 'newer'`],
  ])(
    'replaces the driver and closes the old one when the %s of the cluster changes',
    async (_what, change) => {
      const pool = poolOf();
      const first = await pool.of(id);
      await harness.rows(`update clusters set ${change} where name = 'one'`);
      const second = await pool.of(id);
      expect(second).not.toBe(first);
      expect(await responses(first)).toBe(false);
      expect(await responses(second)).toBe(true);
      expect(made).toHaveLength(2);
      await pool.close();
    },
  );

  it('rejects all waiting callers after a failed connection and retries on the next call', async () => {
    let isBroken = true;
    const pool = poolOf({
      connect: async (cluster) => {
        if (isBroken) throw new Error('The settings are invalid.');
        return newDriver(cluster);
      },
    });
    const got = await Promise.allSettled([pool.of(id), pool.of(id)]);
    expect(got.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    isBroken = false;
    expect(await responses(await pool.of(id))).toBe(true);
    await pool.close();
  });

  it('does not return a driver that was dropped while it was being created', async () => {
    const started = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const pool = poolOf({
      connect: async (cluster) => {
        started.resolve();
        await go.promise;
        return newDriver(cluster);
      },
    });
    const pending = pool.of(id);
    await started.promise;
    pool.renew(id);
    go.resolve();
    expect(await responses(await pending)).toBe(true);
    expect(made).toHaveLength(2);
    await pool.close();
  });

  it('closes all drivers and rejects further calls on close', async () => {
    const pool = poolOf();
    const driver = await pool.of(id);
    const late = pool.of(await harness.clusterId('two'));
    await pool.close();
    expect(await responses(driver)).toBe(false);
    expect(await late.then(responses, () => false)).toBe(false);
    await expect(pool.of(id)).rejects.toSatisfy((error) => isDriverError(error, 'unavailable'));
  });

  it('rejects an unknown cluster with not_found', async () => {
    const pool = poolOf();
    await expect(pool.of(testIds.next('cls'))).rejects.toSatisfy((error) =>
      isDriverError(error, 'not_found'),
    );
    await pool.close();
  });
});
