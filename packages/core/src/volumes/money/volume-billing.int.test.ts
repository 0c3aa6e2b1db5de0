import { DriverError } from '@millrace/compute';
import { isFault } from '@millrace/platform/fault';
import { toUuid } from '@millrace/platform/ids';
import { meteredTotal, nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { findingsOf, runAudit } from '../../auditor/index.ts';
import { silence } from '../reconcile/fake-backend.fixture.ts';
import { attachVolume } from '../actions/attach.service.ts';
import { createSnapshot, deleteSnapshot, SNAPSHOTS_MAX } from '../actions/snapshots.service.ts';
import { listSnapshots } from '../model/snapshots.store.ts';
import { deleteVolume } from '../actions/lifecycle.service.ts';
import { updateVolume } from '../actions/update.service.ts';
import { volumeResourceOf, type Volume } from '../model/volume.ts';
import { createVolumeHarness, GB_HOUR, HOUR_MS, MINUTE_MS, type Tenant } from '../volumes.fixture.ts';

const harness = await createVolumeHarness();
afterEach(() => {
  harness.backend.fault = null;
  harness.backend.snapshotBytes = 1;
});
afterAll(async () => {
  // Inserted rentals have no meters, and inserted money has no payment.
  const report = await runAudit(harness.db, { kind: 'full' });
  const findings = report === null ? [] : findingsOf(report, 'error');
  const inserted = findings.filter(
    ({ check, subject }) => check === 'top_up_has_payment' || subject.id.startsWith('rental:'),
  );
  expect(findings.filter((finding) => !inserted.includes(finding))).toEqual([]);
  await harness.drop();
});

const rate = (sizeGb: number): NanoUsd => nanoUsd(GB_HOUR * BigInt(sizeGb));
const paid = (volume: Volume) => harness.paid(volume.orgId, volumeResourceOf(volume));
const grow = (tenant: Tenant, volume: Volume, sizeInGb: number) =>
  harness.run((tx) => updateVolume(tx, tenant.call(), volume.wireId, { sizeInGb }));
const snap = (tenant: Tenant, volume: Volume, label?: string) =>
  harness.run((tx) => createSnapshot(tx, tenant.call(), volume.wireId, label));
const reasonOf = async (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (error: unknown) => (isFault(error) ? error.reason : Promise.reject(error)),
  );
const typesOf = async (volume: Volume): Promise<readonly string[]> =>
  (await harness.events(volume.orgId)).map(({ type }) => type).filter((type) => type.startsWith('volume.'));

/** Advances the clock in small steps and runs all sweeps after each. */
async function runFor(ms: number, stepMs = 5 * MINUTE_MS): Promise<void> {
  for (let done = 0; done < ms; done += stepMs) {
    await harness.clock.advance(stepMs);
    await harness.sweepAll();
  }
}

describe('a wallet that runs out of money', () => {
  it('freezes its volumes, retains them from the hold, purges them, and never gets negative', async () => {
    // About seven hours of 1024 GB.
    const tenant = await harness.tenant(1);
    const volume = await harness.active(tenant, { sizeGb: 1024 });
    const rental = await harness.rental(tenant, { addresses: ['10.7.0.1'] });
    await harness.run((tx) =>
      attachVolume(tx, tenant.call(), { storageVolumeId: volume.wireId, rentalIds: [rental.wireId] }),
    );
    await harness.settle();
    await runFor(330 * MINUTE_MS, 10 * MINUTE_MS);
    const frozen = await harness.read(volume);
    expect(frozen).toMatchObject({ phase: 'frozen', status: 'inactive' });
    expect(harness.backend.volumes.get(toUuid(volume.id))?.clients).toEqual([]);
    expect(frozen?.purgeAt?.getTime()).toBeGreaterThan(harness.clock.nowMs());
    await runFor(3 * HOUR_MS, 20 * MINUTE_MS);
    expect(await harness.read(volume)).toBeNull();
    expect(harness.backend.volumes.has(toUuid(volume.id))).toBe(false);
    const { balance, held } = await harness.balance(tenant.orgId);
    expect(held).toBe(0n);
    expect(balance).toBeGreaterThanOrEqual(0n);
    expect(balance).toBeLessThan(rate(1024));
    expect(await paid(volume)).toBe(1_000_000_000n - balance);
    expect(await typesOf(volume)).toEqual([
      'volume.active',
      'volume.attached',
      'volume.inactive',
      'volume.detached',
      'volume.deleted',
    ]);
  });

  it('resumes its volumes as soon as there is money', async () => {
    const tenant = await harness.tenant(0.5);
    const volume = await harness.active(tenant, { sizeGb: 1024 });
    const rental = await harness.rental(tenant, { addresses: ['10.7.1.1'] });
    await harness.run((tx) =>
      attachVolume(tx, tenant.call(), { storageVolumeId: volume.wireId, rentalIds: [rental.wireId] }),
    );
    while ((await harness.read(volume))?.phase === 'live') await runFor(30 * MINUTE_MS);
    expect((await harness.read(volume))?.phase).toBe('frozen');
    await harness.topUp(tenant.orgId, 100);
    await runFor(5 * MINUTE_MS, MINUTE_MS);
    expect(await harness.read(volume)).toMatchObject({ phase: 'live', status: 'active', purgeAt: null });
    expect(harness.backend.volumes.get(toUuid(volume.id))?.clients).toEqual(['10.7.1.1']);
    const startedAt = (await harness.read(volume))?.startedAt?.getTime() ?? 0;
    await runFor(2 * HOUR_MS, 30 * MINUTE_MS);
    // Retained and live time cost the same, and all time was paid once.
    const now = harness.clock.nowMs();
    const owed = await harness.rows<{ sum: string }>(
      `select sum(posted_nano_usd + div(rate_nano_usd_per_hour::numeric
              * (case when state = 'open' then extract(epoch from ('${new Date(now).toISOString()}'::timestamptz - running_since))
                 * 1000 + elapsed_before_ms - posted_ms else 0 end), 3600000))::bigint::text as sum
         from meters where cause_kind = 'volume' and cause_id = '${volume.wireId}'`,
    );
    const total = meteredTotal(rate(1024), now - startedAt);
    expect(Math.abs(Number(BigInt(owed[0]?.sum ?? 0) - total))).toBeLessThan(10);
    expect((await typesOf(volume)).at(-1)).toBe('volume.active');
  });

  it('while the backend is unreachable costs no more than the hold, and its status follows later', async () => {
    const tenant = await harness.tenant(1);
    const volume = await harness.active(tenant, { sizeGb: 1024 });
    harness.backend.fault = { call: 'all', error: silence() };
    await harness.advance(3 * MINUTE_MS);
    expect((await harness.read(volume))?.status).toBe('unknown');
    for (let hour = 0; hour < 10; hour += 1) {
      await harness.clock.advance(HOUR_MS);
      await harness.sweepAll();
    }
    expect(await harness.read(volume)).toMatchObject({ status: 'unknown', phase: 'purging' });
    const { balance, held } = await harness.balance(tenant.orgId);
    expect([balance >= 0n, held]).toEqual([true, 0n]);
    harness.backend.fault = null;
    await harness.clock.advance(MINUTE_MS);
    await harness.settle();
    expect(await harness.read(volume)).toBeNull();
    const steps = await harness.rows<{ from_status: string | null; to_status: string | null }>(
      `select from_status, to_status from volume_transitions
        where volume_id = '${toUuid(volume.id)}' order by seq`,
    );
    expect(steps.map(({ from_status: from, to_status: to }) => `${from} ${to}`)).toEqual([
      'null inactive',
      'inactive active',
      'active unknown',
      'unknown active',
      'active inactive',
      'inactive null',
    ]);
  });
});

describe('growing a volume', () => {
  it('is billed from the confirmation of the backend, to the millisecond', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    await harness.clock.advance(HOUR_MS);
    const accepted = await grow(tenant, volume, 512);
    expect(accepted).toMatchObject({ sizeGb: 256, growth: { toGb: 512 } });
    await harness.clock.advance(10 * MINUTE_MS);
    await harness.settle();
    expect(await harness.read(volume)).toMatchObject({ sizeGb: 512, growth: null });
    expect(harness.backend.volumes.get(toUuid(volume.id))?.sizeGb).toBe(512);
    await harness.clock.advance(HOUR_MS);
    await harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId));
    expect(await paid(volume)).toBe(
      meteredTotal(rate(256), 70 * MINUTE_MS) + meteredTotal(rate(512), HOUR_MS),
    );
  });

  it('never shrinks it, is idempotent, and refuses a second growth in progress', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant, { sizeGb: 512 });
    expect(await reasonOf(grow(tenant, volume, 256))).toBe('VOLUME_SHRINK_NOT_SUPPORTED');
    expect((await grow(tenant, volume, 512)).growth).toBeNull();
    const [one, two] = await Promise.all([grow(tenant, volume, 768), grow(tenant, volume, 768)]);
    expect([one.growth?.toGb, two.growth?.toGb]).toEqual([768, 768]);
    expect(await reasonOf(grow(tenant, volume, 1024))).toBe('ACTION_IN_PROGRESS');
    await harness.settle();
    expect((await harness.read(volume))?.sizeGb).toBe(768);
    const open = await harness.rows<{ count: string }>(
      `select count(*)::text as count from ledger_holds
        where cause_kind = 'volume' and cause_id = '${volume.wireId}' and closed_at is null`,
    );
    expect(open[0]?.count).toBe('1');
  });

  it('without balance is refused, and without capacity is cancelled and its hold released', async () => {
    const poor = await harness.tenant(0.1);
    const small = await harness.active(poor);
    expect(await reasonOf(grow(poor, small, 64_000))).toBe('INSUFFICIENT_BALANCE');
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    const { held } = await harness.balance(tenant.orgId);
    await grow(tenant, volume, 512);
    harness.backend.fault = { call: 'ensure', error: new DriverError('no_capacity', 'The pool is full.') };
    await harness.settle();
    harness.backend.fault = null;
    await harness.settle();
    expect(await harness.read(volume)).toMatchObject({ sizeGb: 256, growth: null, status: 'active' });
    expect((await harness.balance(tenant.orgId)).held).toBe(held);
  });

  it('or renaming it requires an active volume', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.create(tenant);
    expect(await reasonOf(grow(tenant, volume, 512))).toBe('VOLUME_NOT_ACTIVE');
    await harness.settle();
    const update = { label: 'other', tags: { team: 'a' } };
    const renamed = await harness.run((tx) => updateVolume(tx, tenant.call(), volume.wireId, update));
    expect(renamed).toMatchObject(update);
    const outsider = await harness.tenant();
    expect(await reasonOf(grow(outsider, volume, 512))).toBe('VOLUME_NOT_FOUND');
  });
});

describe('a snapshot', () => {
  it('is billed by its actual size from when it exists until its deletion', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    harness.backend.snapshotBytes = 9 * 1_073_741_824 + 1;
    const taken = await snap(tenant, volume, 'before');
    expect(taken).toMatchObject({ status: 'creating', label: 'before', sizeGb: 256 });
    await harness.settle();
    const [ready] = await listSnapshots(harness.db, volume);
    expect(ready).toMatchObject({ status: 'ready', sizeGb: 10 });
    await harness.clock.advance(HOUR_MS);
    await harness.run((tx) => deleteSnapshot(tx, tenant.call(), volume.wireId, taken.id));
    expect(await paid(volume)).toBe(meteredTotal(rate(10), HOUR_MS));
    await harness.run((tx) => deleteSnapshot(tx, tenant.call(), volume.wireId, taken.id));
    await harness.clock.advance(MINUTE_MS);
    await harness.settle();
    expect(harness.backend.volumes.get(toUuid(volume.id))?.snapshots).toEqual([]);
    const again = harness.run((tx) => deleteSnapshot(tx, tenant.call(), volume.wireId, taken.id));
    expect(await reasonOf(again)).toBe('SNAPSHOT_NOT_FOUND');
  });

  it('that cannot be created fails without charge; one deleted while being created is not billed', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    const { held } = await harness.balance(tenant.orgId);
    harness.backend.fault = { call: 'snapshot', error: new DriverError('no_capacity', 'The pool is full.') };
    const failed = await snap(tenant, volume);
    await harness.settle();
    harness.backend.fault = null;
    expect((await listSnapshots(harness.db, volume))[0]).toMatchObject({ status: 'failed' });
    await harness.run((tx) => deleteSnapshot(tx, tenant.call(), volume.wireId, failed.id));
    const unwanted = await snap(tenant, volume);
    await harness.run((tx) => deleteSnapshot(tx, tenant.call(), volume.wireId, unwanted.id));
    await harness.clock.advance(5_000);
    await harness.settle();
    await harness.clock.advance(5_000);
    await harness.settle();
    expect(await listSnapshots(harness.db, volume)).toEqual([]);
    expect((await harness.balance(tenant.orgId)).held).toBe(held);
  });

  it('is retained, purged and billed together with its volume', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    harness.backend.snapshotBytes = 100 * 1_073_741_824;
    await snap(tenant, volume);
    await harness.settle();
    await harness.clock.advance(HOUR_MS);
    await harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId));
    await harness.clock.advance(72 * HOUR_MS);
    await harness.settle();
    expect(await harness.read(volume)).toBeNull();
    expect(await listSnapshots(harness.db, volume)).toEqual([]);
    const total = meteredTotal(rate(356), 73 * HOUR_MS);
    expect(Number(total - (await paid(volume)))).toBeLessThan(5);
  });

  it('is limited in number and refused for volumes of others', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    const outsider = await harness.tenant();
    expect(await reasonOf(snap(outsider, volume))).toBe('VOLUME_NOT_FOUND');
    const foreign = harness.run((tx) =>
      deleteSnapshot(tx, outsider.call(), volume.wireId, tx.ids.next('snp')),
    );
    expect(await reasonOf(foreign)).toBe('SNAPSHOT_NOT_FOUND');
    await harness.rows(`insert into volume_snapshots (id, volume_id, org_id, mode, label, size_gb, volume_gb, price, status, created_at,
        make_by, ready_at)
      select overlay(overlay(gen_random_uuid()::text placing '7' from 15 for 1) placing '8' from 20 for 1)::uuid, id, org_id,
             mode, 'old', 1, 1, price || '{"rateNanoUsdPerHour": "0"}', 'ready', now(), now(), now()
        from volumes, generate_series(1, ${SNAPSHOTS_MAX}) where wire_id = ${volume.wireId}`);
    expect(await reasonOf(snap(tenant, volume))).toBe('QUOTA_EXCEEDED');
    await harness.rows(
      `update volume_snapshots set status = 'deleted', ended_at = now() where volume_id = '${toUuid(volume.id)}'`,
    );
  });
});
