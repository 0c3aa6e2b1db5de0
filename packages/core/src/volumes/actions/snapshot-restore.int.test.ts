import { DriverError } from '@millrace/compute';
import { isFault } from '@millrace/platform/fault';
import { toUuid, type KeyId, type SnapshotId } from '@millrace/platform/ids';
import { meteredTotal, nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { findingsOf, runAudit } from '../../auditor/index.ts';
import { attachVolume, detachVolume } from './attach.service.ts';
import { silence } from '../reconcile/fake-backend.fixture.ts';
import type { VolumeOrder } from './volume-order.ts';
import { deleteVolume, freezeVolume } from './lifecycle.service.ts';
import { defaultVolumePolicy } from '../model/policy.ts';
import { restoreSnapshot } from './snapshot-restore.service.ts';
import { createSnapshot, deleteSnapshot } from './snapshots.service.ts';
import { findSnapshot } from '../model/snapshots.store.ts';
import { updateVolume } from './update.service.ts';
import { volumeResourceOf, type Volume } from '../model/volume.ts';
import { lockVolume } from '../model/volumes.store.ts';
import { createVolumeHarness, GB_HOUR, HOUR_MS, MINUTE_MS, type Tenant } from '../volumes.fixture.ts';

const harness = await createVolumeHarness();
afterEach(() => {
  harness.backend.fault = null;
  harness.backend.pause = null;
});
afterAll(() => harness.drop());

const rate = (sizeGb: number): NanoUsd => nanoUsd(GB_HOUR * BigInt(sizeGb));
const reasonOf = async (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (error: unknown) => (isFault(error) ? error.reason : Promise.reject(error)),
  );
const typesOf = async ({ orgId, wireId }: Volume): Promise<readonly string[]> =>
  (await harness.events(orgId))
    .filter(({ data }) => data['storageVolumeId'] === wireId)
    .map(({ type }) => type);
const contentOf = ({ id }: Volume): string | undefined => harness.backend.contents.get(toUuid(id));

async function findings({ tenant }: RestoreBase): Promise<readonly string[]> {
  const report = await runAudit(harness.db, { kind: 'organisation', orgId: tenant.orgId });
  if (report === null) throw new Error('The organisation was not audited.');
  // The money of these tenants has no payment.
  return findingsOf(report, 'error')
    .map(({ check }) => check)
    .filter((check) => check !== 'top_up_has_payment');
}

let nextWireId = 1_900_000_000;

interface RestoreBase {
  readonly tenant: Tenant;
  readonly volume: Volume;
  readonly snapshotId: SnapshotId;
}

/** A volume with content `old` at the time of its snapshot and `new` now. */
async function createBase(tenant?: Tenant, order: Partial<VolumeOrder> = {}): Promise<RestoreBase> {
  const who = tenant ?? (await harness.tenant());
  const volume = await harness.active(who, order);
  harness.backend.contents.set(toUuid(volume.id), 'old');
  const { id: snapshotId } = await harness.run((tx) =>
    createSnapshot(tx, who.call(), volume.wireId, undefined),
  );
  await harness.settle();
  harness.backend.contents.set(toUuid(volume.id), 'new');
  return { tenant: who, volume, snapshotId };
}

function intoNew(
  { tenant, volume, snapshotId }: RestoreBase,
  order: { sizeGb?: number; maxUsd?: NanoUsd } = {},
  keyId?: KeyId,
) {
  const wireId = (nextWireId += 1);
  const { sizeGb = null, maxUsd = null } = order;
  const request = {
    into: 'new-volume',
    wireId,
    order: { label: `restored-${wireId}`, name: null, tags: {}, sizeGb, maxUsd },
  } as const;
  const of = { wireId: volume.wireId, snapshotId };
  return harness.run((tx) => restoreSnapshot(tx, tenant.call('live', keyId), of, request));
}

function inPlace({ tenant, volume, snapshotId }: RestoreBase) {
  const of = { wireId: volume.wireId, snapshotId };
  return harness.run((tx) => restoreSnapshot(tx, tenant.call(), of, { into: 'same-volume' }));
}

describe('restoring a snapshot into a new volume', () => {
  it('creates a volume with the old content on the same node, billed from when it is active', async () => {
    const base = await createBase();
    const before = await harness.balance(base.tenant.orgId);
    const made = await intoNew(base);
    expect(made).toMatchObject({
      status: 'inactive',
      phase: 'provisioning',
      sizeGb: 256,
      nodeId: base.volume.nodeId,
    });
    expect((await harness.balance(base.tenant.orgId)).held - before.held).toBe((rate(256) * 5n) / 4n);
    await harness.clock.advance(5 * MINUTE_MS);
    await harness.settle();
    const active = await harness.read(made);
    expect(active).toMatchObject({
      status: 'active',
      phase: 'live',
      restore: null,
      startedAt: harness.clock.now(),
    });
    expect(contentOf(made)).toBe('old');
    expect(contentOf(base.volume)).toBe('new');
    expect(await typesOf(made)).toEqual(['volume.restored', 'volume.active']);
    await harness.advance(HOUR_MS);
    await harness.sweepAll();
    await harness.run((tx) => deleteVolume(tx, base.tenant.call(), made.wireId));
    expect(await harness.paid(base.tenant.orgId, volumeResourceOf(made))).toBe(
      meteredTotal(rate(256), HOUR_MS),
    );
    expect(await findings(base)).toEqual([]);
  });

  it('accepts a larger size and refuses one below that of the snapshotted volume', async () => {
    const base = await createBase(undefined, { sizeGb: 512 });
    expect(await reasonOf(intoNew(base, { sizeGb: 256 }))).toBe('VALIDATION_FAILED');
    const made = await intoNew(base, { sizeGb: 1_024 });
    await harness.settle();
    expect(await harness.read(made)).toMatchObject({ status: 'active', sizeGb: 1_024 });
  });

  it('uses the size of the volume when the snapshot was taken, not the present one', async () => {
    const base = await createBase();
    await harness.run((tx) => updateVolume(tx, base.tenant.call(), base.volume.wireId, { sizeInGb: 768 }));
    await harness.settle();
    expect(await intoNew(base)).toMatchObject({ sizeGb: 256 });
  });

  it('is refused without balance, beyond the limits of the key and below a minute of maxUsd, and leaves no rows', async () => {
    const base = await createBase();
    const count = async () =>
      (await harness.rows(`select 1 from volumes where org_id = '${toUuid(base.tenant.orgId)}'`)).length;
    const keyId = await harness.limitedKey(base.tenant, { maxUsdPerHour: 0.03 });
    expect(await reasonOf(intoNew(base, {}, keyId))).toBe('KEY_LIMIT_EXCEEDED');
    expect(await reasonOf(intoNew(base, { maxUsd: nanoUsd(1_000n) }))).toBe('MAX_USD_EXCEEDED');
    const poor = await createBase(await harness.tenant(0.2));
    expect(await reasonOf(intoNew(poor, { sizeGb: 64_000 }))).toBe('INSUFFICIENT_BALANCE');
    expect(await count()).toBe(1);
  });

  it('is refused if the snapshot’s node has no capacity, even if other nodes have', async () => {
    const base = await createBase(await harness.tenant(1_000_000));
    const { nodeId } = base.volume;
    await harness.rows(`update storage_nodes set capacity_gb = 300 where id = '${toUuid(nodeId)}'`);
    try {
      expect(await reasonOf(intoNew(base))).toBe('INSUFFICIENT_CAPACITY');
    } finally {
      await harness.rows(`update storage_nodes set capacity_gb = 100000 where id = '${toUuid(nodeId)}'`);
    }
  });

  it('fails without charge and emits an event if the node does not have the snapshot', async () => {
    const base = await createBase();
    harness.backend.snapshotContents.delete(`${toUuid(base.volume.id)}/${toUuid(base.snapshotId)}`);
    const made = await intoNew(base);
    await harness.settle();
    expect(await harness.read(made)).toBeNull();
    expect(await typesOf(made)).toEqual(['volume.restore_failed', 'volume.deleted']);
    expect(await harness.paid(base.tenant.orgId, volumeResourceOf(made))).toBe(0n);
    expect(await findings(base)).toEqual([]);
  });

  it('fails at its deadline if the node keeps failing, while other volumes of the node work', async () => {
    const base = await createBase();
    harness.backend.fault = { call: 'restore', error: new DriverError('failed', 'It cannot be copied.') };
    const made = await intoNew(base);
    await harness.settle();
    expect(await harness.read(made)).toMatchObject({ phase: 'provisioning', status: 'inactive' });
    expect(await harness.active(base.tenant)).toMatchObject({ status: 'active' });
    await harness.advance(defaultVolumePolicy.provisionMs);
    await harness.settle();
    expect(await harness.read(made)).toBeNull();
  });

  it('works from a deleted volume in its retention', async () => {
    const base = await createBase();
    await harness.run((tx) => deleteVolume(tx, base.tenant.call(), base.volume.wireId));
    await harness.settle();
    const made = await intoNew(base);
    await harness.settle();
    expect(await harness.read(made)).toMatchObject({ status: 'active' });
    expect(contentOf(made)).toBe('old');
  });

  it('prevents the deletion of the snapshot and its volume until it is done', async () => {
    const base = await createBase();
    const made = await intoNew(base);
    const { tenant, volume, snapshotId } = base;
    const drop = () => harness.run((tx) => deleteSnapshot(tx, tenant.call(), volume.wireId, snapshotId));
    expect(await reasonOf(drop())).toBe('SNAPSHOT_IN_USE');
    expect(await reasonOf(harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId)))).toBe(
      'SNAPSHOT_IN_USE',
    );
    await harness.settle();
    expect(await harness.read(made)).toMatchObject({ status: 'active' });
    await drop();
    await harness.settle();
    expect(await harness.run((tx) => findSnapshot(tx, tenant.orgId, volume.id, snapshotId))).toBeNull();
  });

  it('is refused for a snapshot that is not ready, absent, or of another volume or organisation', async () => {
    const base = await createBase();
    const other = await createBase(base.tenant);
    const foreign = await createBase();
    const messages = new Set<unknown>();
    for (const wrong of [
      { ...base, snapshotId: other.snapshotId },
      { ...base, snapshotId: foreign.snapshotId },
      { ...foreign, tenant: base.tenant },
    ]) {
      const error: unknown = await intoNew(wrong).catch((thrown: unknown) => thrown);
      if (!isFault(error)) throw new Error('The restore was not refused.');
      messages.add(`${error.reason} ${error.message}`);
    }
    expect([...messages]).toEqual(['SNAPSHOT_NOT_FOUND No such snapshot.']);
    const fresh = await harness.run((tx) =>
      createSnapshot(tx, base.tenant.call(), base.volume.wireId, undefined),
    );
    expect(await reasonOf(intoNew({ ...base, snapshotId: fresh.id }))).toBe('SNAPSHOT_NOT_READY');
  });
});

describe('restoring a snapshot into its own volume', () => {
  it('makes the volume inactive until it has the old content, while it is still billed', async () => {
    const base = await createBase();
    const restoring = await inPlace(base);
    expect(restoring).toMatchObject({ status: 'inactive', phase: 'live' });
    expect(restoring.statusReason).toContain(base.snapshotId);
    await harness.settle();
    const back = await harness.read(base.volume);
    expect(back).toMatchObject({ status: 'active', phase: 'live', restore: null, statusReason: null });
    expect(contentOf(base.volume)).toBe('old');
    expect(await typesOf(base.volume)).toEqual([
      'volume.active',
      'volume.inactive',
      'volume.restored',
      'volume.active',
    ]);
    expect(await findings(base)).toEqual([]);
  });

  it('is refused while the volume is attached to a rental', async () => {
    const base = await createBase();
    const rental = await harness.rental(base.tenant);
    const link = { storageVolumeId: base.volume.wireId, rentalIds: [rental.wireId] };
    await harness.run((tx) => attachVolume(tx, base.tenant.call(), link));
    expect(await reasonOf(inPlace(base))).toBe('VOLUME_ATTACHED');
    await harness.run((tx) => detachVolume(tx, base.tenant.call(), link));
    await inPlace(base);
    await harness.settle();
    expect(contentOf(base.volume)).toBe('old');
  });

  it('prevents attaching, growing, snapshots, deletion and another restore while in progress', async () => {
    const base = await createBase();
    const { tenant, volume } = base;
    await inPlace(base);
    const rental = await harness.rental(tenant);
    const link = { storageVolumeId: volume.wireId, rentalIds: [rental.wireId] };
    expect(await reasonOf(harness.run((tx) => attachVolume(tx, tenant.call(), link)))).toBe(
      'VOLUME_NOT_ACTIVE',
    );
    const grow = harness.run((tx) => updateVolume(tx, tenant.call(), volume.wireId, { sizeInGb: 512 }));
    expect(await reasonOf(grow)).toBe('VOLUME_NOT_ACTIVE');
    const snapshot = harness.run((tx) => createSnapshot(tx, tenant.call(), volume.wireId, undefined));
    expect(await reasonOf(snapshot)).toBe('VOLUME_NOT_ACTIVE');
    expect(await reasonOf(harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId)))).toBe(
      'ACTION_IN_PROGRESS',
    );
    expect(await reasonOf(inPlace(base))).toBe('VOLUME_NOT_ACTIVE');
    await harness.settle();
    expect(await harness.run((tx) => attachVolume(tx, tenant.call(), link))).toEqual([rental.wireId]);
  });

  it('and an attachment exclude each other in the database, in either order', async () => {
    const base = await createBase();
    const rental = await harness.rental(base.tenant);
    const attach = `insert into volume_attachments (volume_id, rental_id, org_id, mode, attached_at)
      values ('${toUuid(base.volume.id)}', '${toUuid(rental.id)}', '${toUuid(base.tenant.orgId)}', 'live', now())`;
    await inPlace(base);
    await expect(harness.rows(attach)).rejects.toThrow('is being restored and cannot be attached');
    await harness.settle();
    await harness.rows(attach);
    const restore = `update volumes set status = 'inactive', restore_id = id, restore_volume_id = id, restore_by = now(),
      restore_snapshot_id = '${toUuid(base.snapshotId)}' where id = '${toUuid(base.volume.id)}'`;
    await expect(harness.rows(restore)).rejects.toThrow('is attached and cannot be restored');
  });

  it('and a concurrent attachment: exactly one succeeds', async () => {
    const base = await createBase();
    const rental = await harness.rental(base.tenant);
    const link = { storageVolumeId: base.volume.wireId, rentalIds: [rental.wireId] };
    const responses = await Promise.all([
      reasonOf(inPlace(base)),
      reasonOf(harness.run((tx) => attachVolume(tx, base.tenant.call(), link))),
    ]);
    expect(responses.filter((response) => response === null)).toHaveLength(1);
    await harness.settle();
  });

  it('keeps the old content and the volume active if the node refuses', async () => {
    const base = await createBase();
    harness.backend.snapshotContents.clear();
    await inPlace(base);
    await harness.settle();
    const back = await harness.read(base.volume);
    expect(back).toMatchObject({ status: 'active', restore: null });
    expect(back?.statusReason).toContain('could not be restored');
    expect(contentOf(base.volume)).toBe('new');
    expect((await typesOf(base.volume)).slice(-2)).toEqual(['volume.restore_failed', 'volume.active']);
  });

  it('fails at its deadline if the node keeps failing, and can be requested again', async () => {
    const base = await createBase();
    harness.backend.fault = { call: 'restore', error: new DriverError('failed', 'It cannot be copied.') };
    await inPlace(base);
    await harness.settle();
    expect(await harness.read(base.volume)).toMatchObject({ status: 'inactive' });
    await harness.advance(defaultVolumePolicy.changeMs);
    await harness.settle();
    expect(await harness.read(base.volume)).toMatchObject({ status: 'active', restore: null });
    expect(contentOf(base.volume)).toBe('new');
    harness.backend.fault = null;
    await inPlace(base);
    await harness.settle();
    expect(contentOf(base.volume)).toBe('old');
  });

  it('succeeds if the node did it and its response was lost, also after the deadline', async () => {
    const base = await createBase();
    harness.backend.beforeReply = () => Promise.reject(silence());
    await inPlace(base);
    await harness.settle();
    expect(contentOf(base.volume)).toBe('old');
    await harness.advance(defaultVolumePolicy.changeMs);
    harness.backend.contents.set(toUuid(base.volume.id), 'old, once');
    harness.backend.beforeReply = null;
    await harness.settle();
    expect(await harness.read(base.volume)).toMatchObject({ status: 'active', restore: null });
    expect(contentOf(base.volume)).toBe('old, once');
    expect(await typesOf(base.volume)).toContain('volume.restored');
  });

  it('is cancelled when the money ends, and its event follows when the node reports the outcome', async () => {
    const base = await createBase();
    harness.backend.fault = { call: 'restore', error: new DriverError('failed', 'It cannot be copied.') };
    await inPlace(base);
    await harness.run(async (tx) => {
      const volume = await lockVolume(tx, base.tenant.orgId, base.volume.id);
      if (volume !== null) await freezeVolume(tx, volume, 'balance');
    });
    await harness.settle();
    // The wallet has money, so the volume is unfrozen in the same round.
    expect(await harness.read(base.volume)).toMatchObject({ status: 'active', phase: 'live', restore: null });
    expect(contentOf(base.volume)).toBe('new');
    expect(await typesOf(base.volume)).toContain('volume.restore_failed');
    expect(await findings(base)).toEqual([]);
  });
});
