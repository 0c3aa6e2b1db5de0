import { isFault } from '@millrace/platform/fault';
import { toUuid } from '@millrace/platform/ids';
import { meteredTotal, nanoUsd } from '@millrace/platform/money';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemAuditContext } from '../../identity/index.ts';
import { silence } from '../reconcile/fake-backend.fixture.ts';
import { isAddressStillServed } from './rental-storage.service.ts';
import { createSnapshot } from './snapshots.service.ts';
import { causeOfVolume, type Volume } from '../model/volume.ts';
import { createVolumeHarness, GB_HOUR, HOUR_MS, MINUTE_MS, type VolumeHarness } from '../volumes.fixture.ts';
import { writeOffVolume } from './write-off.service.ts';

/** Storage nodes that never return, and how an operator writes off the volumes on them. */

let world: VolumeHarness;
beforeAll(async () => {
  world = await createVolumeHarness();
});
afterAll(() => world.drop());

const operator = systemAuditContext('operator', 'live');
const reason = 'Its disks are gone.';

const writeOff = ({ wireId }: Volume) =>
  world.run((tx) => writeOffVolume(tx, operator, { storageVolumeId: wireId, reason }));

const refusal = (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (error: unknown) => (isFault(error) ? error.reason : Promise.reject(error)),
  );

it('writing off a volume is refused while its storage node answers', async () => {
  const tenant = await world.tenant();
  const volume = await world.active(tenant);
  expect(await refusal(writeOff(volume))).toBe('HOST_ANSWERS');
  expect(await world.read(volume)).toMatchObject({ phase: 'live', status: 'active' });
});

it('writing off a volume ends it, gives back what its silent node was paid, and detaches its rentals', async () => {
  const tenant = await world.tenant();
  const rental = await world.rental(tenant, { status: 'Running', addresses: ['10.9.0.1'] });
  const volume = await world.create(tenant, { rentalIds: [rental.wireId] });
  await world.settle();
  await world.run((tx) => createSnapshot(tx, tenant.call(), volume.wireId, 'before'));
  await world.settle();
  await world.advance(HOUR_MS);
  world.backend.fault = { call: 'all', error: silence() };
  const silentFromMs = world.clock.nowMs();
  await world.advance(2 * HOUR_MS);
  await world.sweepAll();
  expect(await world.read(volume)).toMatchObject({ status: 'unknown' });
  const before = await world.paid(tenant.orgId, causeOfVolume(volume));
  const all = await Promise.all([writeOff(volume), writeOff(volume), writeOff(volume)]);
  const done = all.find(({ detachedRentalIds }) => detachedRentalIds.length > 0);
  expect(done?.detachedRentalIds).toEqual([rental.wireId]);
  expect(done?.billingStoppedAt?.getTime()).toBeLessThanOrEqual(silentFromMs);
  const paid = await world.paid(tenant.orgId, causeOfVolume(volume));
  expect(paid).toBeLessThan(before);
  expect(paid).toBe(done?.finalCost);
  const atMost = meteredTotal(nanoUsd(GB_HOUR * 512n), HOUR_MS + MINUTE_MS);
  expect(paid).toBeLessThanOrEqual(atMost);
  expect((await world.balance(tenant.orgId)).held).toBe(0n);
  expect(await world.read(volume)).toBeNull();
  expect(await isAddressStillServed(world.db, tenant.orgId, rental.id)).toBe(false);
  const types = (await world.events(tenant.orgId)).map(({ type }) => type);
  expect(types.filter((type) => type === 'volume.deleted')).toHaveLength(1);
  expect(types).toContain('volume.detached');
  expect(await world.rows(`select 1 from audit_log where action = 'volume.written_off'`)).toHaveLength(1);

  world.backend.fault = null;
  expect(world.backend.volumes.has(toUuid(volume.id))).toBe(true);
  await world.advance(MINUTE_MS);
  await world.settle();
  expect(world.backend.volumes.has(toUuid(volume.id))).toBe(false);
});
