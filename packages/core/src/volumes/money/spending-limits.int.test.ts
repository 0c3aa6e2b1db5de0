import { DriverError } from '@millrace/compute';
import { isFault } from '@millrace/platform/fault';
import { toUuid } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { afterAll, describe, expect, it } from 'vitest';
import { findingsOf, runAudit } from '../../auditor/index.ts';
import { attachVolume, detachVolume } from '../actions/attach.service.ts';
import { cancelGrowth } from '../actions/growth.service.ts';
import { freezeUnpaid } from '../actions/dunning.service.ts';
import { deleteVolume, freezeVolume } from '../actions/lifecycle.service.ts';
import { createSnapshot } from '../actions/snapshots.service.ts';
import { listSnapshots } from '../model/snapshots.store.ts';
import { updateVolume } from '../actions/update.service.ts';
import { volumeResourceOf, type Volume } from '../model/volume.ts';
import { lockVolume } from '../model/volumes.store.ts';
import { createVolumeHarness, GB_HOUR, HOUR_MS, MINUTE_MS, quiet, type Tenant } from '../volumes.fixture.ts';

const harness = await createVolumeHarness();
afterAll(() => harness.drop());

const rate = (sizeGb: number): NanoUsd => nanoUsd(GB_HOUR * BigInt(sizeGb));
const reasonOf = async (work: Promise<unknown>): Promise<string | null> =>
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
  it('also limits the retention after a deletion', async () => {
    const tenant = await harness.tenant();
    const cap = nanoUsd(rate(256) * 100n);
    const volume = await harness.active(tenant, { maxUsd: cap });
    await harness.clock.advance(74 * HOUR_MS);
    await harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId));
    await harness.clock.advance(73 * HOUR_MS);
    await harness.settle();
    expect(await harness.read(volume)).toBeNull();
    expect(await harness.paid(tenant.orgId, volumeResourceOf(volume))).toBeLessThanOrEqual(cap);
  });

  it('also limits, to the nano-USD, the retention with snapshots', async () => {
    const tenant = await harness.tenant();
    // Three meters round separately; the retention has one meter.
    for (const capNano of [rate(256) * 5n, rate(256) * 5n + 1n, rate(256) * 5n + 2n]) {
      const volume = await harness.active(tenant, { maxUsd: nanoUsd(capNano) });
      for (const label of ['one', 'two']) {
        await harness.run((tx) => createSnapshot(tx, tenant.call(), volume.wireId, label));
      }
      await harness.settle();
      await harness.clock.advance(HOUR_MS + 1_111);
      await harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId));
      await harness.clock.advance(73 * HOUR_MS);
      await harness.settle();
      const paid = await harness.paid(tenant.orgId, volumeResourceOf(volume));
      expect(paid).toBeLessThanOrEqual(capNano);
      expect(capNano - paid).toBeLessThan(1_000n);
    }
  });

  it('also limits the retention of a frozen volume', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant, { maxUsd: nanoUsd(rate(256) * 100n) });
    await harness.clock.advance(74 * HOUR_MS);
    await harness.run((tx) => locked(volume, (current) => freezeVolume(tx, current, 'budget'), tx));
    const frozen = await harness.read(volume);
    const lastMs = (volume.startedAt?.getTime() ?? 0) + 100 * HOUR_MS;
    expect(frozen?.phase).toBe('frozen');
    expect(frozen?.purgeAt?.getTime()).toBeLessThanOrEqual(lastMs + 1_000);
    expect(frozen?.purgeAt?.getTime()).toBeGreaterThan(lastMs - MINUTE_MS);
  });
});

describe('createVolume', () => {
  it('reports a rental id outside the valid range as not found', async () => {
    const tenant = await harness.tenant();
    expect(await reasonOf(harness.create(tenant, { rentalIds: [3_000_000_000] }))).toBe('RENTAL_NOT_FOUND');
  });
});

describe('key limits', () => {
  const grow = (tenant: Tenant, volume: Volume, sizeInGb: number, keyId = tenant.keys.live) =>
    harness.run((tx) => updateVolume(tx, tenant.call('live', keyId), volume.wireId, { sizeInGb }));
  const snap = (tenant: Tenant, volume: Volume, keyId: Tenant['keys']['live']) =>
    harness.run((tx) => createSnapshot(tx, tenant.call('live', keyId), volume.wireId, undefined));

  it('cannot be evaded by growing a volume of another key in small steps', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    // Enough for 512 GB.
    const keyId = await harness.limitedKey(tenant, { maxUsdPerHour: 0.08 });
    await grow(tenant, volume, 512, keyId);
    await harness.settle();
    expect(await reasonOf(grow(tenant, volume, 768, keyId))).toBe('KEY_LIMIT_EXCEEDED');
    expect(await reasonOf(snap(tenant, volume, keyId))).toBe('KEY_LIMIT_EXCEEDED');
  });

  it('and budgets of the key that created a volume apply to every growth of it', async () => {
    const tenant = await harness.tenant();
    const keyId = await harness.limitedKey(tenant, { maxUsdPerHour: 0.08 });
    const made = await harness.create(tenant, {}, { keyId });
    await harness.settle();
    await grow(tenant, made, 512);
    await harness.settle();
    expect(await reasonOf(grow(tenant, made, 768))).toBe('KEY_LIMIT_EXCEEDED');
    const holds = await harness.rows<{ key_id: string }>(
      `select key_id from ledger_holds where cause_kind = 'volume' and cause_id = '${made.wireId}'`,
    );
    expect(new Set(holds.map(({ key_id: id }) => id))).toEqual(new Set([toUuid(keyId)]));
  });
});

describe('a growth that was cancelled', () => {
  it('although the node applied it does not prevent detaching', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    const rental = await harness.rental(tenant, { addresses: ['10.7.9.1'] });
    const link = { storageVolumeId: volume.wireId, rentalIds: [rental.wireId] };
    await harness.run((tx) => attachVolume(tx, tenant.call(), link));
    await harness.settle();
    // The response is lost repeatedly until the growth is cancelled.
    await harness.run((tx) => updateVolume(tx, tenant.call(), volume.wireId, { sizeInGb: 512 }));
    harness.backend.beforeReply = () => Promise.reject(new DriverError('unavailable', 'The answer is lost.'));
    await harness.settle();
    harness.backend.beforeReply = null;
    expect(harness.backend.volumes.get(toUuid(volume.id))?.sizeGb).toBe(512);
    await harness.run((tx) =>
      locked(volume, (current) => cancelGrowth(tx, current, 'Growing the volume timed out.'), tx),
    );
    await harness.run((tx) => detachVolume(tx, tenant.call(), link));
    await harness.clock.advance(MINUTE_MS);
    await harness.settle();
    expect(await harness.read(volume)).toMatchObject({ sizeGb: 256, status: 'active', unhealthySince: null });
    expect(harness.backend.volumes.get(toUuid(volume.id))?.clients).toEqual([]);
  });
});

describe('a snapshot that failed', () => {
  it('although the node created it is removed from the node', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    harness.backend.fault = {
      call: 'snapshot',
      error: new DriverError('unavailable', 'The answer is lost.'),
    };
    const taken = await harness.run((tx) => createSnapshot(tx, tenant.call(), volume.wireId, undefined));
    await harness.settle();
    const known =
      harness.backend.volumes.get(toUuid(volume.id)) ?? expect.fail('The backend does not have the volume.');
    harness.backend.volumes.set(known.externalId, { ...known, snapshots: [toUuid(taken.id)] });
    harness.backend.fault = null;
    await harness.clock.advance(31 * MINUTE_MS);
    await harness.settle();
    expect(await listSnapshots(harness.db, volume)).toMatchObject([{ status: 'failed' }]);
    expect(harness.backend.volumes.get(known.externalId)?.snapshots).toEqual([]);
  });
});

describe('dunning', () => {
  it('keeps data for which money is held, even if its deletion is required', async () => {
    const tenant = await harness.tenant(0.4);
    const volume = await harness.active(tenant, { sizeGb: 1024 });
    await harness.rows(`insert into required_actions (org_id, mode, cause_kind, cause_id, action, reason, due_at, created_at)
      values ('${toUuid(tenant.orgId)}', 'live', 'volume', '${volume.wireId}', 'delete', 'balance', '${volume.createdAt.toISOString()}',
        '${volume.createdAt.toISOString()}')`);
    const query = `select 1 from required_actions where cause_id = '${volume.wireId}' and action = 'stop'`;
    while ((await harness.rows(query)).length === 0) {
      await harness.clock.advance(5 * MINUTE_MS);
      await harness.sweepMeters();
    }
    await freezeUnpaid(harness.db, { log: quiet, limit: 100 });
    const stored = await harness.read(volume);
    expect(stored?.phase).toBe('frozen');
    expect(stored?.purgeAt?.getTime()).toBeGreaterThan(harness.clock.nowMs());
  });
});

describe('the auditor', () => {
  it('finds a hold of a purged volume', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    await harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId));
    await harness.clock.advance(73 * HOUR_MS);
    await harness.settle();
    expect(await harness.read(volume)).toBeNull();
    await harness.rows(`insert into ledger_holds (id, org_id, mode, idempotency_key, cause_kind, cause_id, held_nano_usd, created_at)
      values (gen_random_uuid(), '${toUuid(tenant.orgId)}', 'live', 'volume:${volume.wireId}:lost', 'volume',
        '${volume.wireId}', 0, now())`);
    const report = await runAudit(harness.db, { kind: 'organisation', orgId: tenant.orgId });
    const found = report === null ? [] : findingsOf(report, 'error').map(({ check }) => check);
    expect(found).toContain('volume_holds');
  });
});
