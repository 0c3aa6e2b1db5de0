import { DriverError } from '@millrace/compute';
import { toUuid } from '@millrace/platform/ids';
import { failingLoop, type ItemPoison } from '@millrace/testing';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { silence } from './fake-backend.fixture.ts';
import { attachVolume, detachVolume } from '../actions/attach.service.ts';
import { reconcileDueVolumes, reconcileVolume, createVolumeReconciler } from './reconcile-volume.ts';
import { deleteVolume } from '../actions/lifecycle.service.ts';
import { planTask } from './plan-volume.service.ts';
import { applyStorageConfig } from '../model/storage-config.ts';
import type { Volume } from '../model/volume.ts';
import {
  createVolumeHarness,
  HOUR_MS,
  MINUTE_MS,
  type InsertedRental,
  type Tenant,
} from '../volumes.fixture.ts';

const harness = await createVolumeHarness();
afterEach(() => {
  harness.backend.fault = null;
  harness.backend.pause = null;
});
afterAll(() => harness.drop());

const signal = new AbortController().signal;
const viewOf = (volume: Volume) => harness.backend.volumes.get(toUuid(volume.id));
const link = (volume: Volume, rental: InsertedRental) => ({
  storageVolumeId: volume.wireId,
  rentalIds: [rental.wireId],
});
const attach = (tenant: Tenant, volume: Volume, rental: InsertedRental) =>
  harness.run((tx) => attachVolume(tx, tenant.call(), link(volume, rental)));
const detach = (tenant: Tenant, volume: Volume, rental: InsertedRental) =>
  harness.run((tx) => detachVolume(tx, tenant.call(), link(volume, rental)));

describe('a worker that crashes', () => {
  it('before or after the call to the backend leaves a state that the next worker completes', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.create(tenant);
    const before = await harness.run((tx) => planTask(tx, volume, harness.deps.policy));
    expect(before?.what).toBe('serve');
    // It crashes here, once before its call and once after; nothing was recorded.
    if (before?.what === 'serve') await harness.backend.ensure(before.spec, signal);
    expect(await reconcileDueVolumes(harness.deps, 10, signal)).toBe(0);
    await harness.clock.advance(harness.deps.policy.workingMs);
    await harness.settle();
    expect((await harness.read(volume))?.status).toBe('active');
    const meters = await harness.rows<{ count: string }>(
      `select count(*)::text as count from meters where cause_kind = 'volume' and cause_id = '${volume.wireId}'`,
    );
    expect(meters[0]?.count).toBe('1');
  });

  it('during a deletion lets the next worker complete it, with one event', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    await harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId));
    await harness.clock.advance(72 * HOUR_MS);
    const task = await harness.run((tx) => planTask(tx, volume, harness.deps.policy));
    expect(task?.what).toBe('remove');
    harness.backend.volumes.delete(toUuid(volume.id));
    await harness.clock.advance(harness.deps.policy.workingMs);
    await harness.settle();
    expect(await harness.read(volume)).toBeNull();
    const events = (await harness.events(tenant.orgId)).filter(({ type }) => type === 'volume.deleted');
    expect(events).toHaveLength(1);
  });
});

describe('concurrent workers', () => {
  it('provision a volume once: one meter, one event', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.create(tenant);
    await Promise.all([1, 2, 3].map(() => reconcileVolume(harness.deps, volume, signal)));
    await harness.settle();
    expect((await harness.read(volume))?.status).toBe('active');
    const events = (await harness.events(tenant.orgId)).filter(({ type }) => type === 'volume.active');
    expect(events).toHaveLength(1);
  });

  it('remove a machine that was detached during a slow call', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    const rental = await harness.rental(tenant, { addresses: ['10.5.0.1'] });
    await attach(tenant, volume, rental);
    let arrived = (): void => undefined;
    const slow = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    let go = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    harness.backend.pause = async ({ clients }) => {
      if (clients.length === 0) return;
      arrived();
      await held;
    };
    const late = reconcileVolume(harness.deps, volume, signal);
    await slow;
    await detach(tenant, volume, rental);
    await reconcileVolume(harness.deps, volume, signal);
    expect(viewOf(volume)?.clients).toEqual([]);
    // The old list arrives after the new one; until that is repaired, the address counts as admitted.
    harness.backend.pause = null;
    go();
    await late;
    expect(viewOf(volume)?.clients).toEqual(['10.5.0.1']);
    await harness.clock.advance(harness.deps.policy.lookMs);
    await harness.settle();
    await harness.settle();
    expect(viewOf(volume)?.clients).toEqual([]);
    expect((await harness.read(volume))?.servedClients).toEqual([]);
  });

  describe(failingLoop('bring volumes about'), () => {
    it.each<ItemPoison>(['throws', 'hangs'])(
      'on a node that %s does not delay the volumes of another node',
      async (how) => {
        const tenant = await harness.tenant();
        const [slow, quick] = [
          await harness.active(tenant),
          await harness.active(tenant, { region: 'eu-west-4' }),
        ];
        await harness.rows(`update volumes set next_action_at = '${harness.clock.now().toISOString()}', wish_seq = wish_seq + 1
        where wire_id in (${slow.wireId}, ${quick.wireId})`);
        let go = (): void => undefined;
        const held = new Promise<void>((resolve) => {
          go = resolve;
        });
        const fails = (): Promise<never> => Promise.reject(new Error('This volume fails.'));
        harness.backend.pause = ({ externalId }) => {
          if (externalId !== toUuid(slow.id)) return Promise.resolve();
          return how === 'hangs' ? held : fails();
        };
        const converger = createVolumeReconciler(harness.deps, { atOnce: 4, atOncePerNode: 1 });
        while ((await converger.step(signal)) === 'busy');
        await expect.poll(async () => (await harness.read(quick))?.servedSeq).toBe(quick.specSeq + 1);
        expect((await harness.read(slow))?.servedSeq).toBe(slow.specSeq);
        go();
        await converger.ended();
        if (how === 'hangs') expect((await harness.read(slow))?.servedSeq).toBe(slow.specSeq + 1);
      },
    );
  });
});

describe('an unreachable backend', () => {
  it('makes its volumes unknown after 90 seconds, while billing continues, and active after its first response', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    harness.backend.fault = { call: 'all', error: silence() };
    await harness.advance(60_000);
    expect((await harness.read(volume))?.status).toBe('active');
    await harness.advance(60_000);
    expect(await harness.read(volume)).toMatchObject({ status: 'unknown', phase: 'live' });
    await expect(harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId))).rejects.toMatchObject({
      reason: 'ACTION_IN_PROGRESS',
    });
    harness.backend.fault = null;
    await harness.clock.advance(30_000);
    await harness.settle();
    expect((await harness.read(volume))?.status).toBe('active');
    const meters = await harness.rows<{ state: string }>(
      `select state from meters where cause_kind = 'volume' and cause_id = '${volume.wireId}'`,
    );
    expect(meters).toEqual([{ state: 'open' }]);
  });

  it('does not count time without observation', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    harness.backend.fault = { call: 'all', error: silence() };
    await harness.clock.advance(6 * HOUR_MS);
    await harness.settle();
    expect((await harness.read(volume))?.status).toBe('active');
  });

  it('receives a detachment as soon as it responds', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    const rental = await harness.rental(tenant, { addresses: ['10.5.1.1'] });
    await attach(tenant, volume, rental);
    await harness.settle();
    harness.backend.fault = { call: 'all', error: silence() };
    await harness.advance(3 * MINUTE_MS);
    await detach(tenant, volume, rental);
    harness.backend.fault = null;
    await harness.clock.advance(15_000);
    await harness.settle();
    expect(viewOf(volume)?.clients).toEqual([]);
    expect((await harness.read(volume))?.status).toBe('active');
  });
});

describe('a node that does not serve the spec', () => {
  it('is repaired: unknown clients, a stopped server', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    const view = viewOf(volume);
    if (view === undefined) throw new Error('The backend does not have the volume.');
    harness.backend.volumes.set(view.externalId, { ...view, clients: ['10.66.6.6'], isServed: false });
    await harness.clock.advance(harness.deps.policy.lookMs);
    await harness.settle();
    expect(viewOf(volume)).toMatchObject({ clients: [], isServed: true });
  });

  it('because it lost a volume does not get an empty one instead', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    harness.backend.volumes.delete(toUuid(volume.id));
    for (let minute = 0; minute < 4; minute += 1) {
      await harness.advance(MINUTE_MS);
      await harness.settle();
    }
    expect((await harness.read(volume))?.status).toBe('unknown');
    expect(viewOf(volume)).toBeUndefined();
  });

  it('loses leftovers of purged volumes and keeps orphans', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    const view = viewOf(volume);
    if (view === undefined) throw new Error('The backend does not have the volume.');
    await harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId));
    await harness.clock.advance(73 * HOUR_MS);
    await harness.settle();
    harness.backend.volumes.set(view.externalId, view);
    const orphan = { ...view, externalId: 'somebody-elses' };
    harness.backend.volumes.set(orphan.externalId, orphan);
    await harness.clock.advance(harness.deps.policy.lookMs);
    await harness.settle();
    expect(viewOf(volume)).toBeUndefined();
    expect(harness.backend.volumes.has('somebody-elses')).toBe(true);
    harness.backend.volumes.delete('somebody-elses');
  });

  it('because it has no capacity fails the order at once without charge', async () => {
    const tenant = await harness.tenant();
    harness.backend.fault = { call: 'ensure', error: new DriverError('no_capacity', 'The pool is full.') };
    const volume = await harness.create(tenant);
    await reconcileVolume(harness.deps, volume, signal);
    harness.backend.fault = null;
    await harness.settle();
    expect(await harness.read(volume)).toBeNull();
    expect((await harness.balance(tenant.orgId)).held).toBe(0n);
  });
});

describe('applyStorageConfig', () => {
  it('is idempotent, and refuses to change region or kind of a node', async () => {
    const nodes = await harness.rows<{
      name: string;
      region: string;
      kind: 'nfs' | 'mock';
      capacity_gb: number;
    }>('select name, region, kind, capacity_gb from storage_nodes order by name');
    const settings = nodes.map(({ name, region: where, kind, capacity_gb: capacityGb }) => ({
      name,
      region: where as 'eu-west-3' | 'eu-west-4' | 'mock-region',
      kind,
      endpoint: kind === 'mock' ? 'mock:' : `https://${name}.example:8650`,
      credential: null,
      vips: { first: '10.8.0.10', last: '10.8.0.250' },
      capacityGb,
      settings: {},
    }));
    expect(await applyStorageConfig(harness.db, settings)).toEqual([]);
    const moved = settings.map((setting) =>
      setting.name === 'eu-1' ? { ...setting, region: 'eu-west-4' as const } : setting,
    );
    expect(await applyStorageConfig(harness.db, moved as typeof settings)).toMatchObject([{ name: 'eu-1' }]);
    const tenant = await harness.tenant();
    await expect(harness.create(tenant)).rejects.toMatchObject({ reason: 'REGION_DISABLED' });
    await applyStorageConfig(harness.db, settings);
    await harness.active(tenant);
  });
});
