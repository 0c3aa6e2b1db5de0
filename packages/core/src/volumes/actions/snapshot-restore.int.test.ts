import { DriverError } from '@millrace/compute';
import { isFault } from '@millrace/platform/fault';
import { toUuid, type KeyId, type SnapshotId } from '@millrace/platform/ids';
import { meteredTotal, nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
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
import { causeOfVolume, type Volume } from '../model/volume.ts';
import { lockVolume } from '../model/volumes.store.ts';
import {
  createVolumeHarness,
  GB_HOUR,
  HOUR_MS,
  MINUTE_MS,
  type Tenant,
  type VolumeHarness,
} from '../volumes.fixture.ts';

let harness: VolumeHarness;
beforeAll(async () => {
  harness = await createVolumeHarness();
});
afterEach(() => {
  harness.backend.fault = null;
  harness.backend.pause = null;
});
afterAll(() => harness.drop());

const rate = (sizeGb: number): NanoUsd => nanoUsd(GB_HOUR * BigInt(sizeGb));
const refusal = async (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (error: unknown) => (isFault(error) ? error.reason : Promise.reject(error)),
  );
const typesOf = async ({ orgId, wireId }: Volume): Promise<readonly string[]> =>
  (await harness.events(orgId))
    .filter(({ data }) => data['storageVolumeId'] === wireId)
    .map(({ type }) => type);
const contentOf = ({ id }: Volume): string | undefined => harness.backend.contents.get(toUuid(id));

async function findings({ tenant }: Kept): Promise<readonly string[]> {
  const report = await runAudit(harness.db, { kind: 'organisation', orgId: tenant.orgId });
  if (report === null) throw new Error('The organisation was not audited.');
  // The money of these tenants was given without a payment.
  return findingsOf(report, 'error')
    .map(({ check }) => check)
    .filter((check) => check !== 'top_up_has_payment');
}

let nextWireId = 1_900_000_000;

interface Kept {
  readonly tenant: Tenant;
  readonly volume: Volume;
  readonly snapshotId: SnapshotId;
}

/** A volume that held `old` when its snapshot was taken, and holds `new`. */
async function keptVolume(tenant?: Tenant, order: Partial<VolumeOrder> = {}): Promise<Kept> {
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
  { tenant, volume, snapshotId }: Kept,
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

function inPlace({ tenant, volume, snapshotId }: Kept) {
  const of = { wireId: volume.wireId, snapshotId };
  return harness.run((tx) => restoreSnapshot(tx, tenant.call(), of, { into: 'same-volume' }));
}

describe('restoring a snapshot into a new volume', () => {
  it('makes a volume with the old content on the same node, which costs from when it is active', async () => {
    const kept = await keptVolume();
    const before = await harness.balance(kept.tenant.orgId);
    const made = await intoNew(kept);
    expect(made).toMatchObject({
      status: 'inactive',
      phase: 'provisioning',
      sizeGb: 256,
      nodeId: kept.volume.nodeId,
    });
    expect((await harness.balance(kept.tenant.orgId)).held - before.held).toBe((rate(256) * 5n) / 4n);
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
    expect(contentOf(kept.volume)).toBe('new');
    expect(await typesOf(made)).toEqual(['volume.restored', 'volume.active']);
    await harness.advance(HOUR_MS);
    await harness.sweepAll();
    await harness.run((tx) => deleteVolume(tx, kept.tenant.call(), made.wireId));
    expect(await harness.paid(kept.tenant.orgId, causeOfVolume(made))).toBe(meteredTotal(rate(256), HOUR_MS));
    expect(await findings(kept)).toEqual([]);
  });

  it('takes a larger size and refuses one below that of the snapshotted volume', async () => {
    const kept = await keptVolume(undefined, { sizeGb: 512 });
    expect(await refusal(intoNew(kept, { sizeGb: 256 }))).toBe('VALIDATION_FAILED');
    const made = await intoNew(kept, { sizeGb: 1_024 });
    await harness.settle();
    expect(await harness.read(made)).toMatchObject({ status: 'active', sizeGb: 1_024 });
  });

  it('counts the size that the volume had when the snapshot was taken, not the one that it has now', async () => {
    const kept = await keptVolume();
    await harness.run((tx) => updateVolume(tx, kept.tenant.call(), kept.volume.wireId, { sizeInGb: 768 }));
    await harness.settle();
    expect(await intoNew(kept)).toMatchObject({ sizeGb: 256 });
  });

  it('is refused without balance, beyond the limits of the key, and below a minute of maxUsd, and leaves nothing', async () => {
    const kept = await keptVolume();
    const count = async () =>
      (await harness.rows(`select 1 from volumes where org_id = '${toUuid(kept.tenant.orgId)}'`)).length;
    const keyId = await harness.limitedKey(kept.tenant, { maxUsdPerHour: 0.03 });
    expect(await refusal(intoNew(kept, {}, keyId))).toBe('KEY_LIMIT_EXCEEDED');
    expect(await refusal(intoNew(kept, { maxUsd: nanoUsd(1_000n) }))).toBe('MAX_USD_EXCEEDED');
    const poor = await keptVolume(await harness.tenant(0.2));
    expect(await refusal(intoNew(poor, { sizeGb: 64_000 }))).toBe('INSUFFICIENT_BALANCE');
    expect(await count()).toBe(1);
  });

  it('is refused where the node of the snapshot has no room, whatever room other nodes have', async () => {
    const kept = await keptVolume(await harness.tenant(1_000_000));
    const { nodeId } = kept.volume;
    await harness.rows(`update storage_nodes set capacity_gb = 300 where id = '${toUuid(nodeId)}'`);
    try {
      expect(await refusal(intoNew(kept))).toBe('INSUFFICIENT_CAPACITY');
    } finally {
      await harness.rows(`update storage_nodes set capacity_gb = 100000 where id = '${toUuid(nodeId)}'`);
    }
  });

  it('is given up, costs nothing and emits an event if the node does not have the snapshot', async () => {
    const kept = await keptVolume();
    harness.backend.kept.delete(`${toUuid(kept.volume.id)}/${toUuid(kept.snapshotId)}`);
    const made = await intoNew(kept);
    await harness.settle();
    expect(await harness.read(made)).toBeNull();
    expect(await typesOf(made)).toEqual(['volume.restore_failed', 'volume.deleted']);
    expect(await harness.paid(kept.tenant.orgId, causeOfVolume(made))).toBe(0n);
    expect(await findings(kept)).toEqual([]);
  });

  it('is given up at its deadline where the node goes on failing, while other volumes of the node go on', async () => {
    const kept = await keptVolume();
    harness.backend.fault = { call: 'restore', error: new DriverError('failed', 'It cannot be copied.') };
    const made = await intoNew(kept);
    await harness.settle();
    expect(await harness.read(made)).toMatchObject({ phase: 'provisioning', status: 'inactive' });
    expect(await harness.active(kept.tenant)).toMatchObject({ status: 'active' });
    await harness.advance(defaultVolumePolicy.provisionMs);
    await harness.settle();
    expect(await harness.read(made)).toBeNull();
  });

  it('works from a deleted volume whose data is still kept', async () => {
    const kept = await keptVolume();
    await harness.run((tx) => deleteVolume(tx, kept.tenant.call(), kept.volume.wireId));
    await harness.settle();
    const made = await intoNew(kept);
    await harness.settle();
    expect(await harness.read(made)).toMatchObject({ status: 'active' });
    expect(contentOf(made)).toBe('old');
  });

  it('keeps the snapshot and its volume from being deleted until it is done', async () => {
    const kept = await keptVolume();
    const made = await intoNew(kept);
    const { tenant, volume, snapshotId } = kept;
    const drop = () => harness.run((tx) => deleteSnapshot(tx, tenant.call(), volume.wireId, snapshotId));
    expect(await refusal(drop())).toBe('SNAPSHOT_IN_USE');
    expect(await refusal(harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId)))).toBe(
      'SNAPSHOT_IN_USE',
    );
    await harness.settle();
    expect(await harness.read(made)).toMatchObject({ status: 'active' });
    await drop();
    await harness.settle();
    expect(await harness.run((tx) => findSnapshot(tx, tenant.orgId, volume.id, snapshotId))).toBeNull();
  });

  it('is refused for a snapshot that is not ready, is of another volume, of another organisation, or is absent', async () => {
    const kept = await keptVolume();
    const other = await keptVolume(kept.tenant);
    const foreign = await keptVolume();
    const messages = new Set<unknown>();
    for (const wrong of [
      { ...kept, snapshotId: other.snapshotId },
      { ...kept, snapshotId: foreign.snapshotId },
      { ...foreign, tenant: kept.tenant },
    ]) {
      const error: unknown = await intoNew(wrong).catch((thrown: unknown) => thrown);
      if (!isFault(error)) throw new Error('It was not refused.');
      messages.add(`${error.reason} ${error.message}`);
    }
    expect([...messages]).toEqual(['SNAPSHOT_NOT_FOUND No such snapshot.']);
    const fresh = await harness.run((tx) =>
      createSnapshot(tx, kept.tenant.call(), kept.volume.wireId, undefined),
    );
    expect(await refusal(intoNew({ ...kept, snapshotId: fresh.id }))).toBe('SNAPSHOT_NOT_READY');
  });
});

describe('restoring a snapshot into its own volume', () => {
  it('makes the volume inactive until it holds the old content, while it is still billed', async () => {
    const kept = await keptVolume();
    const restoring = await inPlace(kept);
    expect(restoring).toMatchObject({ status: 'inactive', phase: 'live' });
    expect(restoring.statusReason).toContain(kept.snapshotId);
    await harness.settle();
    const back = await harness.read(kept.volume);
    expect(back).toMatchObject({ status: 'active', phase: 'live', restore: null, statusReason: null });
    expect(contentOf(kept.volume)).toBe('old');
    expect(await typesOf(kept.volume)).toEqual([
      'volume.active',
      'volume.inactive',
      'volume.restored',
      'volume.active',
    ]);
    expect(await findings(kept)).toEqual([]);
  });

  it('is refused while the volume is attached to a rental', async () => {
    const kept = await keptVolume();
    const rental = await harness.rental(kept.tenant);
    const link = { storageVolumeId: kept.volume.wireId, rentalIds: [rental.wireId] };
    await harness.run((tx) => attachVolume(tx, kept.tenant.call(), link));
    expect(await refusal(inPlace(kept))).toBe('VOLUME_ATTACHED');
    await harness.run((tx) => detachVolume(tx, kept.tenant.call(), link));
    await inPlace(kept);
    await harness.settle();
    expect(contentOf(kept.volume)).toBe('old');
  });

  it('cannot be attached, grown, snapshotted, deleted or restored again while it is under way', async () => {
    const kept = await keptVolume();
    const { tenant, volume } = kept;
    await inPlace(kept);
    const rental = await harness.rental(tenant);
    const link = { storageVolumeId: volume.wireId, rentalIds: [rental.wireId] };
    expect(await refusal(harness.run((tx) => attachVolume(tx, tenant.call(), link)))).toBe(
      'VOLUME_NOT_ACTIVE',
    );
    const grow = harness.run((tx) => updateVolume(tx, tenant.call(), volume.wireId, { sizeInGb: 512 }));
    expect(await refusal(grow)).toBe('VOLUME_NOT_ACTIVE');
    const snapshot = harness.run((tx) => createSnapshot(tx, tenant.call(), volume.wireId, undefined));
    expect(await refusal(snapshot)).toBe('VOLUME_NOT_ACTIVE');
    expect(await refusal(harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId)))).toBe(
      'ACTION_IN_PROGRESS',
    );
    expect(await refusal(inPlace(kept))).toBe('VOLUME_NOT_ACTIVE');
    await harness.settle();
    expect(await harness.run((tx) => attachVolume(tx, tenant.call(), link))).toEqual([rental.wireId]);
  });

  it('and an attachment exclude each other in the database, whichever comes first', async () => {
    const kept = await keptVolume();
    const rental = await harness.rental(kept.tenant);
    const attach = `insert into volume_attachments (volume_id, rental_id, org_id, mode, attached_at)
      values ('${toUuid(kept.volume.id)}', '${toUuid(rental.id)}', '${toUuid(kept.tenant.orgId)}', 'live', now())`;
    await inPlace(kept);
    await expect(harness.rows(attach)).rejects.toThrow('is being restored and cannot be attached');
    await harness.settle();
    await harness.rows(attach);
    const restore = `update volumes set status = 'inactive', restore_id = id, restore_volume_id = id, restore_by = now(),
      restore_snapshot_id = '${toUuid(kept.snapshotId)}' where id = '${toUuid(kept.volume.id)}'`;
    await expect(harness.rows(restore)).rejects.toThrow('is attached and cannot be restored');
  });

  it('lets only one of a restore and an attachment through when both come at once', async () => {
    const kept = await keptVolume();
    const rental = await harness.rental(kept.tenant);
    const link = { storageVolumeId: kept.volume.wireId, rentalIds: [rental.wireId] };
    const responses = await Promise.all([
      refusal(inPlace(kept)),
      refusal(harness.run((tx) => attachVolume(tx, kept.tenant.call(), link))),
    ]);
    expect(responses.filter((response) => response === null)).toHaveLength(1);
    await harness.settle();
  });

  it('keeps the old content, active, where the node refuses the restore', async () => {
    const kept = await keptVolume();
    harness.backend.kept.clear();
    await inPlace(kept);
    await harness.settle();
    const back = await harness.read(kept.volume);
    expect(back).toMatchObject({ status: 'active', restore: null });
    expect(back?.statusReason).toContain('could not be restored');
    expect(contentOf(kept.volume)).toBe('new');
    expect((await typesOf(kept.volume)).slice(-2)).toEqual(['volume.restore_failed', 'volume.active']);
  });

  it('is given up at its deadline where the node goes on failing, and can be ordered again', async () => {
    const kept = await keptVolume();
    harness.backend.fault = { call: 'restore', error: new DriverError('failed', 'It cannot be copied.') };
    await inPlace(kept);
    await harness.settle();
    expect(await harness.read(kept.volume)).toMatchObject({ status: 'inactive' });
    await harness.advance(defaultVolumePolicy.changeMs);
    await harness.settle();
    expect(await harness.read(kept.volume)).toMatchObject({ status: 'active', restore: null });
    expect(contentOf(kept.volume)).toBe('new');
    harness.backend.fault = null;
    await inPlace(kept);
    await harness.settle();
    expect(contentOf(kept.volume)).toBe('old');
  });

  it('counts as done where the node did it and its answer was lost, also past the deadline', async () => {
    const kept = await keptVolume();
    harness.backend.answer = () => Promise.reject(silence());
    await inPlace(kept);
    await harness.settle();
    expect(contentOf(kept.volume)).toBe('old');
    await harness.advance(defaultVolumePolicy.changeMs);
    harness.backend.contents.set(toUuid(kept.volume.id), 'old, once');
    harness.backend.answer = null;
    await harness.settle();
    expect(await harness.read(kept.volume)).toMatchObject({ status: 'active', restore: null });
    expect(contentOf(kept.volume)).toBe('old, once');
    expect(await typesOf(kept.volume)).toContain('volume.restored');
  });

  it('is not asked for any more when the money ends, and its event follows when the node reports the outcome', async () => {
    const kept = await keptVolume();
    harness.backend.fault = { call: 'restore', error: new DriverError('failed', 'It cannot be copied.') };
    await inPlace(kept);
    await harness.run(async (tx) => {
      const volume = await lockVolume(tx, kept.tenant.orgId, kept.volume.id);
      if (volume !== null) await freezeVolume(tx, volume, 'balance');
    });
    await harness.settle();
    // The wallet has money, so it is thawed in the same round.
    expect(await harness.read(kept.volume)).toMatchObject({ status: 'active', phase: 'live', restore: null });
    expect(contentOf(kept.volume)).toBe('new');
    expect(await typesOf(kept.volume)).toContain('volume.restore_failed');
    expect(await findings(kept)).toEqual([]);
  });
});
