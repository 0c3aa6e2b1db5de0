import { DriverError } from '@millrace/compute';
import { isFault } from '@millrace/platform/fault';
import { toUuid } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findingsOf, runAudit } from '../../auditor/index.ts';
import { attachVolume, detachVolume } from '../actions/attach.service.ts';
import { cancelGrowth } from '../actions/growth.service.ts';
import { freezeUnpaid } from '../actions/dunning.service.ts';
import { deleteVolume, freezeVolume } from '../actions/lifecycle.service.ts';
import { createSnapshot } from '../actions/snapshots.service.ts';
import { listSnapshots } from '../model/snapshots.store.ts';
import { updateVolume } from '../actions/update.service.ts';
import { causeOfVolume, type Volume } from '../model/volume.ts';
import { lockVolume } from '../model/volumes.store.ts';
import {
  createVolumeHarness,
  GB_HOUR,
  HOUR_MS,
  MINUTE_MS,
  quiet,
  type Tenant,
  type VolumeHarness,
} from '../volumes.fixture.ts';

/** What a volume never exceeds, whoever ends it, grows it or gives up on it. */

let world: VolumeHarness;
beforeAll(async () => {
  world = await createVolumeHarness();
});
afterAll(async () => {
  await world.drop();
});

const rate = (sizeGb: number): NanoUsd => nanoUsd(GB_HOUR * BigInt(sizeGb));
const refusal = async (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (error: unknown) => (isFault(error) ? error.reason : Promise.reject(error)),
  );
const locked = (
  volume: Volume,
  work: (current: Volume) => Promise<unknown>,
  tx: Parameters<typeof lockVolume>[0],
) =>
  lockVolume(tx, volume.orgId, volume.id).then((current) => {
    if (current === null) throw new Error(`Volume ${volume.wireId} is not there.`);
    return work(current);
  });

describe('maxUsd', () => {
  it('also bounds what is kept after a deletion by the tenant', async () => {
    const tenant = await world.tenant();
    const cap = nanoUsd(rate(256) * 100n);
    const volume = await world.active(tenant, { maxUsd: cap });
    await world.clock.advance(74 * HOUR_MS);
    await world.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId));
    await world.clock.advance(73 * HOUR_MS);
    await world.settle();
    expect(await world.read(volume)).toBeNull();
    expect(await world.paid(tenant.orgId, causeOfVolume(volume))).toBeLessThanOrEqual(cap);
  });

  it('also bounds, to the nano-USD, what is kept with snapshots', async () => {
    const tenant = await world.tenant();
    // Each of the three rounds what it costs by itself; kept, they are one.
    for (const capNano of [rate(256) * 5n, rate(256) * 5n + 1n, rate(256) * 5n + 2n]) {
      const volume = await world.active(tenant, { maxUsd: nanoUsd(capNano) });
      for (const label of ['one', 'two']) {
        await world.run((tx) => createSnapshot(tx, tenant.call(), volume.wireId, label));
      }
      await world.settle();
      await world.clock.advance(HOUR_MS + 1_111);
      await world.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId));
      await world.clock.advance(73 * HOUR_MS);
      await world.settle();
      const paid = await world.paid(tenant.orgId, causeOfVolume(volume));
      expect(paid).toBeLessThanOrEqual(capNano);
      expect(capNano - paid).toBeLessThan(1_000n);
    }
  });

  it('also bounds what is kept for want of money', async () => {
    const tenant = await world.tenant();
    const volume = await world.active(tenant, { maxUsd: nanoUsd(rate(256) * 100n) });
    await world.clock.advance(74 * HOUR_MS);
    await world.run((tx) => locked(volume, (current) => freezeVolume(tx, current, 'budget'), tx));
    const frozen = await world.read(volume);
    const lastMs = (volume.startedAt?.getTime() ?? 0) + 100 * HOUR_MS;
    expect(frozen?.phase).toBe('frozen');
    expect(frozen?.purgeAt?.getTime()).toBeLessThanOrEqual(lastMs + 1_000);
    expect(frozen?.purgeAt?.getTime()).toBeGreaterThan(lastMs - MINUTE_MS);
  });
});

describe('an order', () => {
  it('for a rental that no id can name is for one that is not there', async () => {
    const tenant = await world.tenant();
    expect(await refusal(world.create(tenant, { rentalIds: [3_000_000_000] }))).toBe('RENTAL_NOT_FOUND');
  });
});

describe('the limits of a key', () => {
  const grow = (tenant: Tenant, volume: Volume, sizeInGb: number, keyId = tenant.keys.live) =>
    world.run((tx) => updateVolume(tx, tenant.call('live', keyId), volume.wireId, { sizeInGb }));
  const snap = (tenant: Tenant, volume: Volume, keyId: Tenant['keys']['live']) =>
    world.run((tx) => createSnapshot(tx, tenant.call('live', keyId), volume.wireId, undefined));

  it('are not got around by growing, little by little, what another key has made', async () => {
    const tenant = await world.tenant();
    const volume = await world.active(tenant);
    // Enough for 512 GB.
    const keyId = await world.limitedKey(tenant, { maxUsdPerHour: 0.08 });
    await grow(tenant, volume, 512, keyId);
    await world.settle();
    expect(await refusal(grow(tenant, volume, 768, keyId))).toBe('KEY_LIMIT_EXCEEDED');
    expect(await refusal(snap(tenant, volume, keyId))).toBe('KEY_LIMIT_EXCEEDED');
  });

  it('hold for what it has made, whoever grows it, and so do its budgets', async () => {
    const tenant = await world.tenant();
    const keyId = await world.limitedKey(tenant, { maxUsdPerHour: 0.08 });
    const made = await world.create(tenant, {}, { keyId });
    await world.settle();
    await grow(tenant, made, 512);
    await world.settle();
    expect(await refusal(grow(tenant, made, 768))).toBe('KEY_LIMIT_EXCEEDED');
    const holds = await world.rows<{ key_id: string }>(
      `select key_id from ledger_holds where cause_kind = 'volume' and cause_id = '${made.wireId}'`,
    );
    expect(new Set(holds.map(({ key_id: id }) => id))).toEqual(new Set([toUuid(keyId)]));
  });
});

describe('a growth that was given up', () => {
  it('though the node has made it, keeps nobody from being detached', async () => {
    const tenant = await world.tenant();
    const volume = await world.active(tenant);
    const rental = await world.rental(tenant, { addresses: ['10.7.9.1'] });
    const link = { storageVolumeId: volume.wireId, rentalIds: [rental.wireId] };
    await world.run((tx) => attachVolume(tx, tenant.call(), link));
    await world.settle();
    // The answer is lost, again and again, until it is given up.
    await world.run((tx) => updateVolume(tx, tenant.call(), volume.wireId, { sizeInGb: 512 }));
    world.backend.answer = () => Promise.reject(new DriverError('unavailable', 'The answer is lost.'));
    await world.settle();
    world.backend.answer = null;
    expect(world.backend.volumes.get(toUuid(volume.id))?.sizeGb).toBe(512);
    await world.run((tx) =>
      locked(volume, (current) => cancelGrowth(tx, current, 'It could not grow in time.'), tx),
    );
    await world.run((tx) => detachVolume(tx, tenant.call(), link));
    await world.clock.advance(MINUTE_MS);
    await world.settle();
    expect(await world.read(volume)).toMatchObject({ sizeGb: 256, status: 'active', troubleSince: null });
    expect(world.backend.volumes.get(toUuid(volume.id))?.clients).toEqual([]);
  });
});

describe('a snapshot that was given up', () => {
  it('though the node has made it, is removed there: nobody pays for the room that it takes', async () => {
    const tenant = await world.tenant();
    const volume = await world.active(tenant);
    world.backend.fault = { call: 'snapshot', error: new DriverError('unavailable', 'The answer is lost.') };
    const taken = await world.run((tx) => createSnapshot(tx, tenant.call(), volume.wireId, undefined));
    await world.settle();
    const known = world.backend.volumes.get(toUuid(volume.id)) ?? expect.fail('It is not there.');
    world.backend.volumes.set(known.externalId, { ...known, snapshots: [toUuid(taken.id)] });
    world.backend.fault = null;
    await world.clock.advance(31 * MINUTE_MS);
    await world.settle();
    expect(await listSnapshots(world.db, tenant.orgId, volume.id)).toMatchObject([{ status: 'failed' }]);
    expect(world.backend.volumes.get(known.externalId)?.snapshots).toEqual([]);
  });
});

describe('what an empty wallet asks for', () => {
  it('takes no data for which money is set aside, though its deletion was asked for before', async () => {
    const tenant = await world.tenant(0.4);
    const volume = await world.active(tenant, { sizeGb: 1024 });
    await world.rows(`insert into required_actions (org_id, mode, cause_kind, cause_id, action, reason, due_at, created_at)
      values ('${toUuid(tenant.orgId)}', 'live', 'volume', '${volume.wireId}', 'delete', 'balance', '${volume.createdAt.toISOString()}',
        '${volume.createdAt.toISOString()}')`);
    const asked = `select 1 from required_actions where cause_id = '${volume.wireId}' and action = 'stop'`;
    while ((await world.rows(asked)).length === 0) {
      await world.clock.advance(5 * MINUTE_MS);
      await world.sweepMeters();
    }
    await freezeUnpaid(world.db, { log: quiet, limit: 100 });
    const kept = await world.read(volume);
    expect(kept?.phase).toBe('frozen');
    expect(kept?.purgeAt?.getTime()).toBeGreaterThan(world.clock.nowMs());
  });
});

describe('the auditor', () => {
  it('finds money that is still set aside for a volume that is gone', async () => {
    const tenant = await world.tenant();
    const volume = await world.active(tenant);
    await world.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId));
    await world.clock.advance(73 * HOUR_MS);
    await world.settle();
    expect(await world.read(volume)).toBeNull();
    await world.rows(`insert into ledger_holds (id, org_id, mode, idempotency_key, cause_kind, cause_id, held_nano_usd, created_at)
      values (gen_random_uuid(), '${toUuid(tenant.orgId)}', 'live', 'volume:${volume.wireId}:lost', 'volume',
        '${volume.wireId}', 0, now())`);
    const report = await runAudit(world.db, { kind: 'organisation', orgId: tenant.orgId });
    const found = report === null ? [] : findingsOf(report, 'error').map(({ check }) => check);
    expect(found).toContain('volume_holds');
  });
});
