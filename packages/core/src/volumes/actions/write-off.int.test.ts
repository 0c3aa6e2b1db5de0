import { isFault } from '@millrace/platform/fault';
import { toUuid } from '@millrace/platform/ids';
import { meteredTotal, nanoUsd } from '@millrace/platform/money';
import { afterAll, expect, it } from 'vitest';
import { systemAuditContext } from '../../identity/index.ts';
import { silence } from '../reconcile/fake-backend.fixture.ts';
import { isAddressStillServed } from '../model/attachments.store.ts';
import { createSnapshot } from './snapshots.service.ts';
import { volumeResourceOf, type Volume } from '../model/volume.ts';
import { createVolumeHarness, GB_HOUR, HOUR_MS, MINUTE_MS } from '../volumes.fixture.ts';
import { writeOffVolume } from './write-off.service.ts';

const harness = await createVolumeHarness();
afterAll(() => harness.drop());

const operator = systemAuditContext('operator', 'live');
const reason = 'Its disks are gone.';

const writeOff = ({ wireId }: Volume) =>
  harness.run((tx) => writeOffVolume(tx, operator, { storageVolumeId: wireId, reason }));

const reasonOf = (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (error: unknown) => (isFault(error) ? error.reason : Promise.reject(error)),
  );

it('writeOffVolume is refused while the storage node responds', async () => {
  const tenant = await harness.tenant();
  const volume = await harness.active(tenant);
  expect(await reasonOf(writeOff(volume))).toBe('HOST_ANSWERS');
  expect(await harness.read(volume)).toMatchObject({ phase: 'live', status: 'active' });
});

it('writeOffVolume ends the volume, refunds the time without responses, and detaches its rentals', async () => {
  const tenant = await harness.tenant();
  const rental = await harness.rental(tenant, { status: 'Running', addresses: ['10.9.0.1'] });
  const volume = await harness.create(tenant, { rentalIds: [rental.wireId] });
  await harness.settle();
  await harness.run((tx) => createSnapshot(tx, tenant.call(), volume.wireId, 'before'));
  await harness.settle();
  await harness.advance(HOUR_MS);
  harness.backend.fault = { call: 'all', error: silence() };
  const silentFromMs = harness.clock.nowMs();
  await harness.advance(2 * HOUR_MS);
  await harness.sweepAll();
  expect(await harness.read(volume)).toMatchObject({ status: 'unknown' });
  const before = await harness.paid(tenant.orgId, volumeResourceOf(volume));
  const all = await Promise.all([writeOff(volume), writeOff(volume), writeOff(volume)]);
  const done = all.find(({ detachedRentalIds }) => detachedRentalIds.length > 0);
  expect(done?.detachedRentalIds).toEqual([rental.wireId]);
  expect(done?.billingStoppedAt?.getTime()).toBeLessThanOrEqual(silentFromMs);
  const paid = await harness.paid(tenant.orgId, volumeResourceOf(volume));
  expect(paid).toBeLessThan(before);
  expect(paid).toBe(done?.finalCost);
  const atMost = meteredTotal(nanoUsd(GB_HOUR * 512n), HOUR_MS + MINUTE_MS);
  expect(paid).toBeLessThanOrEqual(atMost);
  expect((await harness.balance(tenant.orgId)).held).toBe(0n);
  expect(await harness.read(volume)).toBeNull();
  expect(await isAddressStillServed(harness.db, tenant.orgId, rental.id)).toBe(false);
  const types = (await harness.events(tenant.orgId)).map(({ type }) => type);
  expect(types.filter((type) => type === 'volume.deleted')).toHaveLength(1);
  expect(types).toContain('volume.detached');
  expect(await harness.rows(`select 1 from audit_log where action = 'volume.written_off'`)).toHaveLength(1);

  harness.backend.fault = null;
  expect(harness.backend.volumes.has(toUuid(volume.id))).toBe(true);
  await harness.advance(MINUTE_MS);
  await harness.settle();
  expect(harness.backend.volumes.has(toUuid(volume.id))).toBe(false);
});
