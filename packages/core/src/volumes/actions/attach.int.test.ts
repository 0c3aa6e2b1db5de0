import { isFault } from '@millrace/platform/fault';
import { toUuid } from '@millrace/platform/ids';
import { afterAll, describe, expect, it } from 'vitest';
import { authorizeCaller } from '../../identity/index.ts';
import { silence } from '../reconcile/fake-backend.fixture.ts';
import { attachVolume, detachVolume } from './attach.service.ts';
import {
  attachAtCreate,
  detachRental,
  readAttachedVolumesOf,
  bumpSpecVersionsOfRental,
} from './rental-storage.service.ts';
import { isAddressStillServed } from '../model/attachments.store.ts';
import { deleteVolume } from './lifecycle.service.ts';
import { volumesActor, type Volume } from '../model/volume.ts';
import {
  createVolumeHarness,
  MINUTE_MS,
  otherRegion,
  region,
  type InsertedRental,
  type Tenant,
} from '../volumes.fixture.ts';

const harness = await createVolumeHarness();
afterAll(() => harness.drop());

const clientsOf = (volume: Volume): readonly string[] =>
  harness.backend.volumes.get(toUuid(volume.id))?.clients ?? [];
const attach = (tenant: Tenant, volume: Volume, ...rentals: readonly InsertedRental[]) =>
  harness.run((tx) =>
    attachVolume(tx, tenant.call(), {
      storageVolumeId: volume.wireId,
      rentalIds: rentals.map(({ wireId }) => wireId),
    }),
  );
const detach = (tenant: Tenant, volume: Volume, ...rentals: readonly InsertedRental[]) =>
  harness.run((tx) =>
    detachVolume(tx, tenant.call(), {
      storageVolumeId: volume.wireId,
      rentalIds: rentals.map(({ wireId }) => wireId),
    }),
  );
const reasonOf = async (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (error: unknown) => (isFault(error) ? error.reason : Promise.reject(error)),
  );

describe('attachVolume', () => {
  it('admits exactly the machines of the attached rentals, and emits each attachment once', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    const one = await harness.rental(tenant, { addresses: ['10.1.0.1', '10.1.0.2'] });
    const two = await harness.rental(tenant, { addresses: ['10.1.0.3'] });
    await harness.rental(tenant, { addresses: ['10.1.0.4'] });
    expect(await attach(tenant, volume, two, one, two)).toEqual([one.wireId, two.wireId]);
    await attach(tenant, volume, one);
    await harness.settle();
    expect(clientsOf(volume)).toEqual(['10.1.0.1', '10.1.0.2', '10.1.0.3']);
    const events = (await harness.events(tenant.orgId)).filter(({ type }) => type === 'volume.attached');
    expect(events.map(({ data }) => data['rentalIds'])).toEqual([[one.wireId, two.wireId]]);
    const attached = await readAttachedVolumesOf(harness.db, tenant.orgId, [one.id, two.id]);
    expect(attached.get(one.id)).toEqual([
      {
        wireId: volume.wireId,
        ratePerHour: 35_072_000n,
        sizeGb: 256,
        label: volume.label,
        vip: volume.vip,
        attachedRentalIds: [one.wireId, two.wireId],
      },
    ]);
  });

  it('attaches all rentals or none, with the reason of the refusal', async () => {
    const tenant = await harness.tenant();
    const outsider = await harness.tenant();
    const volume = await harness.active(tenant);
    const good = await harness.rental(tenant);
    const foreign = await harness.rental(outsider);
    const machine = await harness.rental(tenant, { kind: 'virtual-machine' });
    const instance = await harness.rental(tenant, { kind: 'instance' });
    const away = await harness.rental(tenant, { region: otherRegion });
    const pending = await harness.rental(tenant, { status: 'Pending' });
    const ending = await harness.rental(tenant, { status: 'Terminating' });
    const absent = { ...good, wireId: 7 };
    const below = { ...good, wireId: -5 };
    const huge = { ...good, wireId: Number.MAX_SAFE_INTEGER };
    for (const missing of [foreign, instance, absent, below, huge]) {
      expect(await reasonOf(attach(tenant, volume, good, missing))).toBe('RENTAL_NOT_FOUND');
    }
    expect(await reasonOf(attach(tenant, volume, good, machine))).toBe('ATTACH_NOT_SUPPORTED');
    expect(await reasonOf(attach(tenant, volume, good, away))).toBe('REGION_MISMATCH');
    expect(await reasonOf(attach(tenant, volume, good, pending))).toBe('ACTION_IN_PROGRESS');
    expect(await reasonOf(attach(tenant, volume, good, ending))).not.toBeNull();
    expect(await reasonOf(attach(outsider, volume, foreign))).toBe('VOLUME_NOT_FOUND');
    expect(await reasonOf(attach(tenant, { ...volume, wireId: 2 ** 40 }, good))).toBe('VOLUME_NOT_FOUND');
    await harness.settle();
    expect(clientsOf(volume)).toEqual([]);
  });

  it('refuses a volume that is not active', async () => {
    const tenant = await harness.tenant();
    const rental = await harness.rental(tenant);
    const volume = await harness.create(tenant);
    expect(await reasonOf(attach(tenant, volume, rental))).toBe('VOLUME_NOT_ACTIVE');
    await harness.settle();
    await attach(tenant, volume, rental);
    await detach(tenant, volume, rental);
    await harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId));
    expect(await reasonOf(attach(tenant, volume, rental))).toBe('VOLUME_NOT_ACTIVE');
  });

  it('leaves nothing attached if the rental ends concurrently', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    for (let round = 0; round < 10; round += 1) {
      const rental = await harness.rental(tenant, { addresses: [`10.1.1.${round + 1}`] });
      const ending = harness.run(async (tx) => {
        await tx.kysely
          .updateTable('rentals')
          .set({
            status: 'Terminating',
            task: 'release',
            task_deadline_at: tx.clock.now(),
            end_accepted_at: tx.clock.now(),
          })
          .where('id', '=', toUuid(rental.id))
          .execute();
        await detachRental(tx, tenant.orgId, rental.id, volumesActor);
      });
      await Promise.all([reasonOf(attach(tenant, volume, rental)), ending]);
      const attached = await readAttachedVolumesOf(harness.db, tenant.orgId, [rental.id]);
      expect(attached.size).toBe(0);
    }
  });
});

describe('detachVolume', () => {
  it('removes only the machines of the detached rental from the storage server', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    const one = await harness.rental(tenant, { addresses: ['10.2.0.1'] });
    const two = await harness.rental(tenant, { addresses: ['10.2.0.2'] });
    await attach(tenant, volume, one, two);
    await harness.settle();
    expect(await detach(tenant, volume, one)).toEqual([one.wireId]);
    await harness.settle();
    expect(clientsOf(volume)).toEqual(['10.2.0.2']);
    expect(await reasonOf(detach(tenant, volume, one))).toBe('VOLUME_NOT_ATTACHED');
    expect(await reasonOf(detach(tenant, volume, one, two))).toBe('VOLUME_NOT_ATTACHED');
  });

  it('is required before a deletion, which names the attached rental', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    const rental = await harness.rental(tenant);
    await attach(tenant, volume, rental);
    const refused = harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId));
    await expect(refused).rejects.toMatchObject({
      reason: 'VOLUME_ATTACHED',
      message: `The volume is attached to rental ${rental.wireId}.`,
    });
    await detach(tenant, volume, rental);
    await harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId));
  });

  it('happens automatically for a rental that ended without detaching', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    const rental = await harness.rental(tenant, { addresses: ['10.2.1.1'] });
    await attach(tenant, volume, rental);
    await harness.settle();
    await harness.onRental(
      rental,
      `status = 'Terminating', task = 'release', task_deadline_at = now(), end_accepted_at = now()`,
    );
    await harness.onMachines(rental, `state = 'doomed', doomed_at = now()`);
    expect(await isAddressStillServed(harness.db, tenant.orgId, rental.id)).toBe(true);
    await harness.clock.advance(30_000);
    await harness.settle();
    await harness.settle();
    expect(clientsOf(volume)).toEqual([]);
    expect(await isAddressStillServed(harness.db, tenant.orgId, rental.id)).toBe(false);
    expect((await readAttachedVolumesOf(harness.db, tenant.orgId, [rental.id])).size).toBe(0);
  });
});

describe('machines of an attached rental', () => {
  it('are admitted by their present addresses', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    const rental = await harness.rental(tenant, { addresses: ['10.3.0.1'] });
    await attach(tenant, volume, rental);
    await harness.settle();
    await harness.onMachines(rental, `private_ip = '10.3.0.9'`);
    await harness.run((tx) => bumpSpecVersionsOfRental(tx, tenant.orgId, rental.id));
    await harness.settle();
    expect(clientsOf(volume)).toEqual(['10.3.0.9']);
    await harness.onMachines(rental, `cut_at = now()`);
    await harness.run((tx) => bumpSpecVersionsOfRental(tx, tenant.orgId, rental.id));
    await harness.settle();
    expect(clientsOf(volume)).toEqual([]);
  });

  it('with an invalid address do not affect other machines', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    const rental = await harness.rental(tenant, { addresses: ['10.3.2.1'] });
    const odd = await harness.rental(tenant, {
      addresses: ['10.3.2.2', '999.3.2.3', '010.3.2.4', '0.0.0.0', '255.255.255.255', 'fd00::5', '*'],
    });
    await attach(tenant, volume, rental);
    await attach(tenant, volume, odd);
    await harness.settle();
    expect(clientsOf(volume)).toEqual(['10.3.2.1', '10.3.2.2']);
    await detach(tenant, volume, rental);
    await harness.settle();
    expect(clientsOf(volume)).toEqual(['10.3.2.2']);
  });

  it('keep their addresses while an unreachable backend may still admit them', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    const rental = await harness.rental(tenant, { addresses: ['10.3.1.1'] });
    await attach(tenant, volume, rental);
    await harness.settle();
    harness.backend.fault = { call: 'all', error: silence() };
    await harness.onMachines(rental, `state = 'doomed', doomed_at = now()`);
    await harness.run((tx) => detachRental(tx, tenant.orgId, rental.id, volumesActor));
    await harness.settle();
    expect(await isAddressStillServed(harness.db, tenant.orgId, rental.id)).toBe(true);
    harness.backend.fault = null;
    await harness.clock.advance(2 * MINUTE_MS);
    await harness.settle();
    expect(await isAddressStillServed(harness.db, tenant.orgId, rental.id)).toBe(false);
  });

  it('of a rental that moved are not delayed by their replacements', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    const rental = await harness.rental(tenant, { addresses: ['10.3.3.1', '10.3.3.2'] });
    await attach(tenant, volume, rental);
    await harness.settle();
    await harness.onMachines(
      rental,
      `state = case position when 1 then 'doomed' else state end,
      doomed_at = case position when 1 then now() end`,
    );
    expect(await isAddressStillServed(harness.db, tenant.orgId, rental.id)).toBe(true);
    await harness.run((tx) => bumpSpecVersionsOfRental(tx, tenant.orgId, rental.id));
    await harness.settle();
    expect(clientsOf(volume)).toEqual(['10.3.3.2']);
    expect(await isAddressStillServed(harness.db, tenant.orgId, rental.id)).toBe(false);
  });
});

describe('attachAtCreate', () => {
  const order = (
    tenant: Tenant,
    rental: InsertedRental,
    choice: Parameters<typeof attachAtCreate>[4],
    wireId: number | null,
    where = region,
  ) =>
    harness.run(async (tx) => {
      const caller = await authorizeCaller(tx, tenant.call(), 'rentals:write');
      await attachAtCreate(
        tx,
        tenant.call(),
        caller,
        { ...rental, region: where, mode: 'live' },
        choice,
        wireId,
      );
    });

  it('attaches an existing volume that is active and in the region', async () => {
    const tenant = await harness.tenant();
    const volume = await harness.active(tenant);
    const rental = await harness.rental(tenant, { status: 'Pending', addresses: ['10.4.0.1'] });
    await order(tenant, rental, { isNew: false, id: volume.wireId }, null);
    await harness.settle();
    expect(clientsOf(volume)).toEqual(['10.4.0.1']);
    const away = await harness.rental(tenant, { status: 'Pending', region: otherRegion });
    const choice = { isNew: false, id: volume.wireId } as const;
    expect(await reasonOf(order(tenant, away, choice, null, otherRegion))).toBe('REGION_MISMATCH');
    expect(await reasonOf(order(await harness.tenant(), rental, choice, null))).toBe('VOLUME_NOT_FOUND');
  });

  it('creates a new volume that is usable with the rental', async () => {
    const tenant = await harness.tenant();
    const rental = await harness.rental(tenant, { status: 'Pending', addresses: ['10.4.1.1'] });
    const choice = { isNew: true, label: 'fresh', sizeInGb: 300 } as const;
    await order(tenant, rental, choice, 1_000_000_007);
    await harness.settle();
    const volume = await harness.read({ orgId: tenant.orgId, mode: 'live', wireId: 1_000_000_007 });
    expect(volume).toMatchObject({ status: 'active', sizeGb: 300, label: 'fresh' });
    expect(volume === null ? [] : clientsOf(volume)).toEqual(['10.4.1.1']);
  });

  it('requires the volume scope and enough balance', async () => {
    const tenant = await harness.tenant();
    const rental = await harness.rental(tenant, { status: 'Pending' });
    const keyId = await harness.limitedKey(tenant, {}, ['rentals:write']);
    const call = tenant.call('live', keyId);
    const choice = { isNew: true, label: 'fresh', sizeInGb: 256 } as const;
    const refused = harness.run(async (tx) => {
      const caller = await authorizeCaller(tx, call, 'rentals:write');
      await attachAtCreate(tx, call, caller, { ...rental, region, mode: 'live' }, choice, 1_000_000_008);
    });
    expect(await reasonOf(refused)).toBe('INSUFFICIENT_SCOPE');
    const poor = await harness.tenant(0.01);
    const theirs = await harness.rental(poor, { status: 'Pending' });
    expect(await reasonOf(order(poor, theirs, choice, 1_000_000_009))).toBe('INSUFFICIENT_BALANCE');
  });
});
