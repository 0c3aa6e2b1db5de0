import { DriverError } from '@millrace/compute';
import { toUuid } from '@millrace/platform/ids';
import type { VolumeBackend, VolumeSpec } from '@millrace/storage';
import { eventually, hybridClock } from '@millrace/testing';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  applyStorageConfig,
  createBackendPool,
  createVolumeReconciler,
  defaultVolumePolicy,
  detachRental,
  checkDueNodes,
} from '../../volumes/index.ts';
import { reconcileUntil, withDriver } from '../reconcile/reconcile.fixture.ts';
import { terminateRental } from '../actions/termination.service.ts';
import { listMachines } from '../model/machines.store.ts';
import { startRentalQueryApi, type RentalQueryApi } from '../read/rental-queries.fixture.ts';
import { liveRegion, quiet, type RentalHarness, type Tenant } from '../model/rental.fixture.ts';
import { type Rental, rentalsActor } from '../model/rental.ts';
import { findRentalByWireId } from '../model/rentals.store.ts';

/** Tests bare metal with volumes: ordered together, shown in all records, and admitted exactly while attached. */

const path = '/v2/on-demand/bare-metal-rentals';
const order = { gpuCount: 16, networkType: 'infiniband' };
const never = new AbortController().signal;

let api: RentalQueryApi;
let harness: RentalHarness;
let tenant: Tenant;
/** The last spec that the storage node received, by volume. */
const served = new Map<string, VolumeSpec>();
let isSilent = false;
/** The storage node has less space than its configured capacity. */
let isFull = false;
let settle: () => Promise<void>;

const shown = { isServed: true, detail: null, snapshots: [], restored: [] };

const backend: VolumeBackend = {
  async ensure(spec) {
    if (isSilent) throw new DriverError('unavailable', 'The storage server does not respond.');
    if (isFull) throw new DriverError('no_capacity', 'The pool has 3 GB left.');
    served.set(spec.externalId, spec);
    return { ...spec, ...shown };
  },
  async list() {
    return [...served.values()].map((spec) => ({ ...spec, ...shown }));
  },
  snapshot: () => Promise.reject(new DriverError('unsupported', 'No snapshots here.')),
  removeSnapshot: () => Promise.resolve(),
  async remove(volumeId) {
    served.delete(volumeId);
  },
  close: () => Promise.resolve(),
};

beforeAll(async () => {
  api = await startRentalQueryApi({ portListeners: true, metalFabrics: 12 });
  ({ harness } = api);
  const { db } = harness;
  await applyStorageConfig(db, [
    {
      name: 'st-1',
      region: liveRegion,
      kind: 'nfs',
      endpoint: 'https://st-1.example:8650',
      credential: null,
      vips: { first: '10.8.0.10', last: '10.8.0.250' },
      capacityGb: 100_000,
      settings: {},
    },
  ]);
  await harness.run((tx) =>
    sql`insert into prices (id, subject_kind, unit, price_nano_usd, valid_from, created_at)
        values (${toUuid(tx.ids.next('prc'))}, 'volume', 'gb_hour', 137000, ${harness.clock.now()}, ${harness.clock.now()})`.execute(
      tx.kysely,
    ),
  );
  const backends = createBackendPool({ log: quiet, connect: async () => backend });
  const deps = { db, clock: hybridClock(harness.clock), log: quiet, backends, policy: defaultVolumePolicy };
  const converger = createVolumeReconciler(deps, { atOnce: 8, atOncePerNode: 8 });
  settle = async () => {
    await checkDueNodes(deps, never);
    for (let turn = 0; turn < 4; turn += 1) {
      await converger.step(never);
      await converger.ended();
    }
  };
  await settle();
});
afterAll(() => api.close());
beforeEach(async () => {
  isSilent = false;
  isFull = false;
  tenant = await harness.tenant({ balanceUsd: 10_000 });
  await harness.watch();
});

const post = (to: string, body: object) => api.send(tenant, 'live', { path: to, method: 'POST', body });

const found = async (wireId: number): Promise<Rental> =>
  (await findRentalByWireId(harness.db, tenant.orgId, 'live', wireId)) ??
  expect.fail('The rental does not exist.');

async function rented(
  storageVolume: object,
  gpuCount = order.gpuCount,
): Promise<{ readonly rental: Rental; readonly volumeId: number }> {
  const { status, text, json } = await post(path, { ...order, gpuCount, storageVolume });
  expect([status, text]).toEqual([200, text]);
  const [{ id: volumeId } = { id: 0 }] = json.meta.attached_storage;
  return { rental: await found(json.id), volumeId };
}

const addressesOf = async ({ orgId, id }: Rental): Promise<readonly string[]> =>
  (await listMachines(harness.db, orgId, id)).flatMap(({ privateIp }) => privateIp ?? []).toSorted();

const clients = (): readonly string[] => [...served.values()].flatMap((spec) => spec.clients).toSorted();

const volumesOf = () =>
  harness.rows<{ wire_id: number }>(
    `select wire_id from volumes where org_id = '${toUuid(tenant.orgId)}' order by wire_id`,
  );

describe('bare metal ordered with a new volume', () => {
  it('holds the quoted amount of both, to the nano-USD', async () => {
    const request = { rentalType: 'bare-metal', networkType: 'infiniband', region: liveRegion, gpuCount: 16 };
    const { json: quote } = await post('/v2/on-demand/quote', { ...request, storageSizeInGb: 512 });
    await rented({ isNew: true, label: 'quoted', sizeInGb: 512 });
    expect(String((await harness.balance(tenant.orgId)).held)).toBe(quote.holdNanoUsd);
  });

  it('shows the volume in every record, and is admitted when it runs', async () => {
    const { rental, volumeId } = await rented({ isNew: true, label: 'data', sizeInGb: 300 });
    const item = {
      id: volumeId,
      cost_per_hour: 0.0411,
      size_in_gb: 300,
      label: 'data',
      vip: expect.stringMatching(/^10\.8\.0\.\d+$/u) as unknown,
      attached_instance_ids: [rental.wireId],
    };
    await settle();
    await reconcileUntil(harness, rental, { until: 'Running' });
    await settle();
    const shown = { attachedStorage: [item], meta: { attached_storage: [item] } };
    const listed = await api.send(tenant, 'live', { path });
    expect(listed.json).toMatchObject([{ id: rental.wireId, ...shown }]);
    const one = await api.send(tenant, 'live', { path: `/v2/on-demand/rentals/${rental.wireId}` });
    expect(one.json).toMatchObject(shown);
    expect(clients()).toEqual(await addressesOf(rental));
    expect(clients()).toHaveLength(2);
  });

  it('is rejected as a whole if either the nodes or the volume have no capacity', async () => {
    const noRoom = { ...order, gpuCount: 800, storageVolume: { isNew: true, label: 'never', sizeInGb: 256 } };
    expect(await post(path, noRoom)).toMatchObject({
      status: 400,
      json: { reason: 'INSUFFICIENT_CAPACITY' },
    });
    const tooLarge = { ...order, storageVolume: { isNew: true, label: 'large', sizeInGb: 64_000 } };
    await rented({ isNew: true, label: 'larger', sizeInGb: 64_000 });
    expect(await post(path, tooLarge)).toMatchObject({
      status: 400,
      json: { reason: 'INSUFFICIENT_CAPACITY' },
    });
    expect(await volumesOf()).toHaveLength(1);
    expect((await api.send(tenant, 'live', { path })).json).toHaveLength(1);
  });
});

describe('bare metal whose new volume is not provisioned', () => {
  const statuses = (rental: Rental) =>
    harness.rows<{ to_status: string }>(
      `select to_status from rental_transitions where rental_id = '${toUuid(rental.id)}' order by seq`,
    );

  it('fails with the reason of the volume, never runs and costs nothing', async () => {
    isFull = true;
    const before = await harness.balance(tenant.orgId);
    const { rental } = await rented({ isNew: true, label: 'no-space', sizeInGb: 300 }, 8);
    await settle();
    await reconcileUntil(harness, rental, { until: 'Failed' });
    const why = 'the storage node does not have enough free space';
    const shown = await api.send(tenant, 'live', { path: `/v2/on-demand/rentals/${rental.wireId}` });
    expect(shown.text).toContain(why);
    const events = await harness.rows<{ type: string; payload: { reason?: string } }>(
      `select type, payload from outbox where org_id = '${toUuid(tenant.orgId)}'
          and type in ('volume.deleted', 'rental.failed') order by type`,
    );
    expect(events.map(({ type, payload }) => [type, payload.reason])).toEqual([
      ['rental.failed', expect.stringContaining(why)],
      ['volume.deleted', expect.stringContaining(why)],
    ]);
    expect((await statuses(rental)).map((row) => row.to_status)).toEqual(['Pending', 'Failed']);
    expect(await harness.balance(tenant.orgId)).toEqual(before);
    expect(await harness.rows(`select 1 from meters where org_id = '${toUuid(tenant.orgId)}'`)).toEqual([]);
  });

  it('does not become Running before the volume is usable', async () => {
    isSilent = true;
    const { rental } = await rented({ isNew: true, label: 'slow', sizeInGb: 300 }, 8);
    await settle();
    await expect(reconcileUntil(harness, rental, { until: 'Running', rounds: 40 })).rejects.toThrow(
      /Pending/u,
    );
    isSilent = false;
    await harness.advance(60_000);
    await settle();
    await reconcileUntil(harness, rental, { until: 'Running' });
    expect((await statuses(rental)).map((row) => row.to_status)).toEqual(['Pending', 'Running']);
  });

  it('runs without the volume if its tenant has detached it', async () => {
    isSilent = true;
    const { rental } = await rented({ isNew: true, label: 'unwanted', sizeInGb: 300 }, 8);
    await harness.run((tx) => detachRental(tx, rental.orgId, rental.id, tenant.call().cause.actor));
    await harness.advance(1_000);
    isSilent = false;
    isFull = true;
    await settle();
    await reconcileUntil(harness, rental, { until: 'Running' });
  });
});

describe('existing volume', () => {
  it('can be shared by two rentals, each admitted until its own termination', async () => {
    const before = clients();
    const { rental: first, volumeId } = await rented({ isNew: true, label: 'shared', sizeInGb: 256 });
    await settle();
    const { rental: second } = await rented({ isNew: false, id: volumeId });
    for (const rental of [first, second]) await reconcileUntil(harness, rental, { until: 'Running' });
    await settle();
    const [one, other] = [await addressesOf(first), await addressesOf(second)];
    expect(clients()).toEqual([...before, ...one, ...other].toSorted());
    const shown = await api.send(tenant, 'live', { path: `/v2/on-demand/rentals/${first.wireId}` });
    expect(shown.json.attachedStorage[0].attached_instance_ids).toEqual([first.wireId, second.wireId]);

    await post(`${path}/terminate`, { rentalId: first.wireId });
    // The address is not released while the storage node has not processed the termination.
    isSilent = true;
    await expect(reconcileUntil(harness, first, { until: 'Terminated', rounds: 40 })).rejects.toThrow(
      /Terminating/u,
    );
    const held = await harness.rows(
      `select 1 from allocations where external_id = '${toUuid(first.id)}' and state = 'releasing'`,
    );
    expect(held).toHaveLength(1);
    isSilent = false;
    await harness.advance(60_000);
    await settle();
    expect(clients()).toEqual([...before, ...other].toSorted());
    await reconcileUntil(harness, first, { until: 'Terminated' });
    const after = await api.send(tenant, 'live', { path: `/v2/on-demand/rentals/${second.wireId}` });
    expect(after.json.attachedStorage[0].attached_instance_ids).toEqual([second.wireId]);
  });

  it('of another organisation is not found, and the order leaves nothing', async () => {
    const { volumeId } = await rented({ isNew: true, label: 'mine', sizeInGb: 256 });
    const outsider = await harness.tenant({ balanceUsd: 10_000 });
    const storageVolume = { isNew: false, id: volumeId };
    const refused = await api.send(outsider, 'live', {
      path,
      method: 'POST',
      body: { ...order, storageVolume },
    });
    expect(refused).toMatchObject({ status: 400, json: { reason: 'VOLUME_NOT_FOUND' } });
    expect((await harness.balance(outsider.orgId)).held).toBe(0n);
  });
});

/** A harness whose engine reports this private address for each machine. */
const withAddress = (address: string) =>
  withDriver(harness, (driver) => ({
    async describe(machine, signal) {
      const seen = await driver.describe(machine, signal);
      return seen === null ? null : { ...seen, privateIps: [address] };
    },
  }));

describe('two machines of a region with the same private address', () => {
  it('cannot both have volumes: the second is not handed over while the first exists', async () => {
    const { rental: first } = await rented({ isNew: true, label: 'first', sizeInGb: 256 }, 8);
    await settle();
    await reconcileUntil(harness, first, { until: 'Running' });
    const [address = ''] = await addressesOf(first);
    const sameAddress = withAddress(address);
    tenant = await harness.tenant({ balanceUsd: 10_000 });
    const { rental: second } = await rented({ isNew: true, label: 'second', sizeInGb: 256 }, 8);
    await settle();
    await expect(reconcileUntil(sameAddress, second, { until: 'Running', rounds: 40 })).rejects.toThrow(
      /Pending/u,
    );
    expect(await addressesOf(second)).toEqual([]);
    await harness.run((tx) =>
      terminateRental(tx, first.orgId, first.id, { actor: rentalsActor, reason: 'test' }),
    );
    await settle();
    await reconcileUntil(harness, first, { until: 'Terminated' });
    await reconcileUntil(sameAddress, second, { until: 'Running' });
    expect(await addressesOf(second)).toEqual([address]);
  });

  it('both run if the second has no volume', async () => {
    const { rental: first } = await rented({ isNew: true, label: 'kept', sizeInGb: 256 }, 8);
    await settle();
    await reconcileUntil(harness, first, { until: 'Running' });
    const [address = ''] = await addressesOf(first);
    const { json } = await post(path, { ...order, gpuCount: 8 });
    const second = await found(json.id);
    await reconcileUntil(withAddress(address), second, { until: 'Running' });
    expect(await addressesOf(second)).toEqual([address]);
    await settle();
    expect(clients().filter((client) => client === address)).toHaveLength(1);
  });

  it('both run if only the second has a volume', async () => {
    const { json } = await post(path, { ...order, gpuCount: 8 });
    const first = await found(json.id);
    await reconcileUntil(harness, first, { until: 'Running' });
    const [address = ''] = await addressesOf(first);
    const { rental: second } = await rented({ isNew: true, label: 'later', sizeInGb: 256 }, 8);
    await settle();
    await reconcileUntil(withAddress(address), second, { until: 'Running' });
    expect(await addressesOf(second)).toEqual([address]);
  });
});

describe('machine deletion', () => {
  it('of a node that could not be wiped waits until no storage node admits its address', async () => {
    const { rental } = await rented({ isNew: true, label: 'unclean', sizeInGb: 256 }, 8);
    await settle();
    await reconcileUntil(harness, rental, { until: 'Running' });
    await settle();
    await post(`${path}/terminate`, { rentalId: rental.wireId });
    const unclean = withDriver(harness, () => ({
      terminate: () => Promise.reject(new DriverError('unclean', 'erase_devices failed')),
    }));
    isSilent = true;
    await expect(reconcileUntil(unclean, rental, { until: 'Terminated', rounds: 20 })).rejects.toThrow(
      /Terminating/u,
    );
    isSilent = false;
    await harness.advance(60_000);
    await settle();
    await reconcileUntil(unclean, rental, { until: 'Terminated' });
    const nodes = await harness.rows(
      `select 1 from nodes join rental_machines as machine on machine.node_id = nodes.id
        where machine.rental_id = '${toUuid(rental.id)}' and nodes.status = 'node_quarantined'`,
    );
    expect(nodes).toHaveLength(1);
  });

  it('of a failed attempt locks the volume before the nodes, like an order with that volume', async () => {
    const { rental, volumeId } = await rented({ isNew: true, label: 'in-order', sizeInGb: 256 }, 8);
    await settle();
    const failing = withDriver(harness, () => ({
      create: () => Promise.reject(new DriverError('failed', 'its image could not be written')),
    }));
    const [all] = await harness.rows<{ count: bigint }>(`select count(*) from node_capacity`);
    const held = Promise.withResolvers<void>();
    const waited = Promise.withResolvers<void>();
    const holding = harness.run(async (tx) => {
      await sql`select 1 from volumes where wire_id = ${volumeId} for no key update`.execute(tx.kysely);
      held.resolve();
      await waited.promise;
      return sql`select 1 from node_capacity for no key update skip locked`.execute(tx.kysely);
    });
    await held.promise;
    const driving = reconcileUntil(failing, rental, { until: 'Failed' });
    const waiting = `select 1 from pg_locks join pg_stat_activity as session using (pid)
      where not granted and session.datname = current_database()`;
    await eventually(
      { what: 'a session to wait for a lock' },
      async () => (await harness.rows(waiting)).length > 0,
    ).finally(waited.resolve);
    expect(BigInt((await holding).rows.length)).toBe(all?.count);
    await driving;
  });
});
