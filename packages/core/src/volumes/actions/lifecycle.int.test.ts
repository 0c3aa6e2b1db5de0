import type { Tx } from '@millrace/platform/db';
import { isFault } from '@millrace/platform/fault';
import { toUuid } from '@millrace/platform/ids';
import { meteredTotal, nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { findingsOf, runAudit } from '../../auditor/index.ts';
import { afterAll, describe, expect, it } from 'vitest';
import { attachVolume, detachVolume } from './attach.service.ts';
import { silence } from '../reconcile/fake-backend.fixture.ts';
import { deleteVolume } from './lifecycle.service.ts';
import { createSnapshot } from './snapshots.service.ts';
import { updateVolume } from './update.service.ts';
import { getVolume, listSnapshotsOfTenant } from './volume-queries.service.ts';
import { rateOf } from '../../prices/index.ts';
import { volumeResourceOf, type Volume } from '../model/volume.ts';
import {
  createVolumeHarness,
  GB_HOUR,
  HOUR_MS,
  MINUTE_MS,
  otherRegion,
  type Tenant,
} from '../volumes.fixture.ts';

const harness = await createVolumeHarness();
afterAll(() => harness.drop());

const rate = (sizeGb: number): NanoUsd => nanoUsd(GB_HOUR * BigInt(sizeGb));
const typesOf = async (volume: Volume): Promise<readonly string[]> =>
  (await harness.events(volume.orgId)).map(({ type }) => type).filter((type) => type.startsWith('volume.'));
const reasonOf = async (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (error: unknown) => (isFault(error) ? error.reason : Promise.reject(error)),
  );

describe('a volume', () => {
  it('is inactive with a hold until its backend serves it, and is billed from then on', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.create(tenant);
    expect(volume).toMatchObject({ status: 'inactive', phase: 'provisioning', startedAt: null });
    const { held } = await harness.balance(tenant.orgId);
    expect(held).toBe((rate(256) * 5n) / 4n);
    expect(await harness.paid(tenant.orgId, volumeResourceOf(volume))).toBe(0n);
    await harness.clock.advance(5 * MINUTE_MS);
    await harness.settle();
    const active = await harness.read(volume);
    expect(active).toMatchObject({ status: 'active', phase: 'live', startedAt: harness.clock.now() });
    expect(harness.backend.volumes.get(toUuid(volume.id))).toMatchObject({
      sizeGb: 256,
      vip: volume.vip,
      clients: [],
      isServed: true,
    });
    await harness.advance(HOUR_MS);
    await harness.sweepAll();
    await harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId));
    expect(await harness.paid(tenant.orgId, volumeResourceOf(volume))).toBe(meteredTotal(rate(256), HOUR_MS));
    expect(await typesOf(volume)).toEqual(['volume.active', 'volume.inactive']);
  });

  it('is kept and billed for 72 hours after its deletion, and then purged', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    const deleted = await harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId));
    const purgeAt = new Date(harness.clock.nowMs() + 72 * HOUR_MS);
    expect(deleted).toMatchObject({ status: 'inactive', phase: 'leaving', purgeAt });
    await harness.settle();
    expect(harness.backend.volumes.has(toUuid(volume.id))).toBe(true);
    await harness.clock.advance(72 * HOUR_MS - 1);
    await harness.settle();
    expect((await harness.read(volume))?.phase).toBe('leaving');
    await harness.clock.advance(5 * HOUR_MS);
    await harness.settle();
    expect(await harness.read(volume)).toBeNull();
    expect(harness.backend.volumes.has(toUuid(volume.id))).toBe(false);
    // The late purge does not change the price.
    expect(await harness.paid(tenant.orgId, volumeResourceOf(volume))).toBe(
      meteredTotal(rate(256), 72 * HOUR_MS),
    );
    expect((await harness.balance(tenant.orgId)).held).toBe(0n);
    expect(await typesOf(volume)).toEqual(['volume.active', 'volume.inactive', 'volume.deleted']);
  });

  it('that is deleted twice emits one event and is billed once', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    const both = await Promise.all(
      [1, 2].map(() => harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId))),
    );
    expect(both[0]).toEqual(both[1]);
    await harness.settle();
    const again = await harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId));
    expect(again.purgeAt).toEqual(both[0]?.purgeAt);
    expect(await typesOf(volume)).toEqual(['volume.active', 'volume.inactive']);
  });

  it('that was never usable is purged at once without charge', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.create(tenant);
    await harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId));
    expect((await harness.balance(tenant.orgId)).held).toBe(0n);
    await harness.settle();
    expect(await harness.read(volume)).toBeNull();
    expect(await harness.paid(tenant.orgId, volumeResourceOf(volume))).toBe(0n);
  });

  it('that cannot be provisioned within half an hour is purged without charge', async () => {
    const tenant = await harness.tenant();
    harness.backend.fault = { call: 'ensure', error: silence() };
    const volume = await harness.create(tenant);
    await harness.settle();
    expect((await harness.read(volume))?.phase).toBe('provisioning');
    await harness.advance(30 * MINUTE_MS);
    harness.backend.fault = null;
    await harness.settle();
    expect(await harness.read(volume)).toBeNull();
    expect((await harness.balance(tenant.orgId)).held).toBe(0n);
    expect(await harness.paid(tenant.orgId, volumeResourceOf(volume))).toBe(0n);
  });

  it('of a test key is free and has no data', async () => {
    const tenant = await harness.tenant(0);
    const volume = await harness.create(tenant, {}, { mode: 'test' });
    await harness.settle();
    expect((await harness.read(volume))?.status).toBe('active');
    expect(harness.backend.volumes.has(toUuid(volume.id))).toBe(false);
    const shown = await getVolume(harness.db, { orgId: tenant.orgId, mode: 'test' }, volume.wireId);
    expect([rateOf(shown.volume.price), shown.livePerHour]).toEqual([0n, rate(256)]);
    await harness.run((tx) => deleteVolume(tx, tenant.call('test'), volume.wireId));
    await harness.clock.advance(73 * HOUR_MS);
    await harness.settle();
    expect(await harness.read(volume)).toBeNull();
  });

  it('of a test key has snapshots with the price of live mode once they are ready', async () => {
    const tenant = await harness.tenant(0);
    const volume = await harness.create(tenant, {}, { mode: 'test' });
    await harness.settle();
    await harness.run((tx) => createSnapshot(tx, tenant.call('test'), volume.wireId, 'taken'));
    const list = () =>
      listSnapshotsOfTenant(harness.db, { orgId: tenant.orgId, mode: 'test' }, volume.wireId, {
        after: null,
        limit: 10,
      });
    expect(await list()).toMatchObject([{ status: 'creating', livePerHour: null }]);
    await harness.settle();
    const [ready] = await list();
    expect(ready?.status).toBe('ready');
    expect(ready?.livePerHour).toBe(rate(ready?.sizeGb ?? -1));
  });

  it('is not found by keys of the other mode or of other organisations', async () => {
    const tenant = await harness.tenant();
    const outsider = await harness.tenant();
    const live = await harness.active(tenant);
    const tried = await harness.create(tenant, {}, { mode: 'test' });
    await harness.settle();
    for (const [call, { wireId }] of [
      [tenant.call('test'), live],
      [tenant.call('live'), tried],
      [outsider.call('live'), live],
      [outsider.call('test'), tried],
    ] as const) {
      const link = { storageVolumeId: wireId, rentalIds: [1] };
      const steps = [
        (tx: Tx) => attachVolume(tx, call, link),
        (tx: Tx) => detachVolume(tx, call, link),
        (tx: Tx) => updateVolume(tx, call, wireId, { label: 'taken' }),
        (tx: Tx) => createSnapshot(tx, call, wireId, 'taken'),
        (tx: Tx) => deleteVolume(tx, call, wireId),
      ];
      for (const step of steps) expect(await reasonOf(harness.run<unknown>(step))).toBe('VOLUME_NOT_FOUND');
    }
    expect(await harness.read(live)).toMatchObject({ label: live.label, status: 'active' });
    expect(await harness.read(tried)).toMatchObject({ label: tried.label, status: 'active' });
  });
});

describe('createVolume', () => {
  it('places a volume of a test key on mock storage in a bare-metal region', async () => {
    const tenant = await harness.tenant(1);
    const volume = await harness.create(tenant, { region: otherRegion }, { mode: 'test' });
    await harness.settle();
    expect(await harness.read(volume)).toMatchObject({ region: otherRegion, status: 'active' });
    const [node] = await harness.rows<{ name: string }>(
      `select node.name from volumes join storage_nodes as node on node.id = volumes.node_id
        where volumes.id = '${toUuid(volume.id)}'`,
    );
    expect(node).toEqual({ name: 'mock' });
  });

  it('is refused without storage, price, balance or capacity, and leaves no rows', async () => {
    const tenant = await harness.tenant(1);
    const before = await harness.balance(tenant.orgId);
    expect(await reasonOf(harness.create(tenant, { region: 'mock-region' }))).toBe('REGION_DISABLED');
    expect(await reasonOf(harness.create(tenant, {}, { mode: 'test' }).then(() => null))).toBeNull();
    expect(await reasonOf(harness.create(tenant, { region: 'us-east-1' }, { mode: 'test' }))).toBe(
      'REGION_DISABLED',
    );
    expect(await reasonOf(harness.create(tenant, { region: 'us-east-1' }))).toBe('REGION_DISABLED');
    expect(await reasonOf(harness.create(tenant, { sizeGb: 64_000 }))).toBe('INSUFFICIENT_BALANCE');
    const rich = await harness.tenant(1_000_000);
    expect(await reasonOf(harness.create(rich, { sizeGb: 64_000, region: otherRegion }))).toBeNull();
    expect(await reasonOf(harness.create(rich, { sizeGb: 64_000, region: otherRegion }))).toBe(
      'INSUFFICIENT_CAPACITY',
    );
    expect(await harness.balance(tenant.orgId)).toEqual(before);
  });

  it('is refused beyond the limits of its key, which count rentals, volumes and growth together', async () => {
    const tenant = await harness.tenant();
    const keyId = await harness.limitedKey(tenant, { maxUsdPerHour: 0.08, regions: ['eu-west-3'] });
    expect(await reasonOf(harness.create(tenant, { region: otherRegion }, { keyId }))).toBe(
      'KEY_LIMIT_EXCEEDED',
    );
    await harness.create(tenant, {}, { keyId });
    await harness.create(tenant, {}, { keyId });
    expect(await reasonOf(harness.create(tenant, {}, { keyId }))).toBe('KEY_LIMIT_EXCEEDED');
    const reader = await harness.limitedKey(tenant, {}, ['volumes:read']);
    expect(await reasonOf(harness.create(tenant, {}, { keyId: reader }))).toBe('INSUFFICIENT_SCOPE');
  });

  it('gives concurrent volumes of a node different addresses', async () => {
    const tenants = await Promise.all(Array.from({ length: 8 }, () => harness.tenant()));
    const volumes = await Promise.all(tenants.map((tenant) => harness.create(tenant)));
    expect(new Set(volumes.map(({ vip }) => vip)).size).toBe(8);
    await harness.settle();
    for (const volume of volumes) expect((await harness.read(volume))?.status).toBe('active');
  });
});

describe('a label', () => {
  it('belongs to one volume until its deletion, also with concurrent requests', async () => {
    const tenant = await harness.tenant();
    const orders = await Promise.all(
      [1, 2, 3].map(() => reasonOf(harness.create(tenant, { label: 'datasets' }))),
    );
    expect(orders.filter((reason) => reason === 'VOLUME_LABEL_TAKEN')).toHaveLength(2);
    expect(orders).toContain(null);
    expect(await reasonOf(harness.create(await harness.tenant(), { label: 'datasets' }))).toBeNull();
    await harness.settle();
    const other = await harness.active(tenant);
    const rename = harness.run((tx) => updateVolume(tx, tenant.call(), other.wireId, { label: 'datasets' }));
    expect(await reasonOf(rename)).toBe('VOLUME_LABEL_TAKEN');
    const [{ wire_id: wireId } = { wire_id: 0 }] = await harness.rows<{ wire_id: number }>(
      `select wire_id from volumes where label = 'datasets' and org_id = '${toUuid(tenant.orgId)}'`,
    );
    await harness.run((tx) => deleteVolume(tx, tenant.call(), wireId));
    await harness.run((tx) => updateVolume(tx, tenant.call(), other.wireId, { label: 'datasets' }));
  });
});

/** Ignores the finding that the money of these tenants has no payment. */
async function auditFindings(tenant: Tenant): Promise<readonly string[]> {
  const report = await runAudit(harness.db, { kind: 'organisation', orgId: tenant.orgId });
  if (report === null) throw new Error('The organisation was not audited.');
  return findingsOf(report, 'error')
    .map(({ check }) => check)
    .filter((check) => check !== 'top_up_has_payment');
}

describe('maxUsd', () => {
  it('keeps the data for the whole retention, unpaid, if no worker ran while the limit was reached', async () => {
    const tenant = await harness.tenant();
    const cap = nanoUsd(rate(256) * 100n);
    const volume = await harness.active(tenant, { maxUsd: cap });
    await harness.clock.advance(600 * HOUR_MS);
    await harness.settle();
    expect(await harness.read(volume)).toMatchObject({
      phase: 'leaving',
      endReason: 'The spending limit (maxUsd) was reached.',
    });
    // The retention is a quarter of the hundred hours that the limit pays for.
    await harness.clock.advance(24 * HOUR_MS);
    await harness.settle();
    expect(harness.backend.volumes.has(toUuid(volume.id))).toBe(true);
    expect(await auditFindings(tenant)).toEqual([]);
    await harness.clock.advance(2 * HOUR_MS);
    await harness.settle();
    expect(await harness.read(volume)).toBeNull();
    expect(await harness.paid(tenant.orgId, volumeResourceOf(volume))).toBeLessThanOrEqual(cap);
  });

  it('ends a volume before it exceeds the limit, retention included, however late a worker runs', async () => {
    const tenant = await harness.tenant();
    const cap = nanoUsd(rate(256) * 100n);
    for (const lateMs of [0, 500 * HOUR_MS]) {
      const volume = await harness.active(tenant, { maxUsd: cap });
      await harness.clock.advance(74 * HOUR_MS);
      await harness.settle();
      expect((await harness.read(volume))?.phase).toBe('live');
      await harness.clock.advance(2 * HOUR_MS + lateMs);
      await harness.settle();
      expect(await harness.read(volume)).toMatchObject({
        phase: 'leaving',
        endReason: 'The spending limit (maxUsd) was reached.',
      });
      await harness.clock.advance(26 * HOUR_MS);
      await harness.settle();
      expect(await harness.read(volume)).toBeNull();
      const paid = await harness.paid(tenant.orgId, volumeResourceOf(volume));
      expect(paid).toBeLessThanOrEqual(cap);
      expect(cap - paid).toBeLessThan(rate(256) / 3_600_000n + 1_000n);
    }
  });
});
