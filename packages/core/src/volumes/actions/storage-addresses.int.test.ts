import { readFile } from 'node:fs/promises';
import { isFault } from '@millrace/platform/fault';
import { toUuid } from '@millrace/platform/ids';
import { afterAll, describe, expect, it } from 'vitest';
import { attachVolume } from './attach.service.ts';
import { bumpSpecVersionsOfRental } from './rental-storage.service.ts';
import type { Volume } from '../model/volume.ts';
import { createVolumeHarness, type InsertedRental, type Tenant } from '../volumes.fixture.ts';

const harness = await createVolumeHarness();
afterAll(() => harness.drop());

const clientsOf = (volume: Volume): readonly string[] =>
  harness.backend.volumes.get(toUuid(volume.id))?.clients ?? [];
const attach = (tenant: Tenant, volume: Volume, rental: InsertedRental): Promise<string> =>
  harness
    .run((tx) =>
      attachVolume(tx, tenant.call(), { storageVolumeId: volume.wireId, rentalIds: [rental.wireId] }),
    )
    .then(
      () => 'attached',
      (error: unknown) => (isFault(error) ? error.message : Promise.reject(error)),
    );

async function setUp(address: string) {
  const tenant = await harness.tenant();
  return {
    tenant,
    volume: await harness.active(tenant),
    rental: await harness.rental(tenant, { addresses: [address] }),
  };
}

describe('two rentals of a region whose machines have the same private address', () => {
  it('can attach volumes one at a time, also with concurrent requests', async () => {
    const both = [await setUp('10.5.0.1'), await setUp('10.5.0.1')];
    const responses = await Promise.all(both.map((each) => attach(each.tenant, each.volume, each.rental)));
    const [refused] = responses.filter((response) => response !== 'attached');
    expect(responses.filter((response) => response === 'attached')).toHaveLength(1);
    expect(refused).toMatch(
      /^Rental \d+ cannot attach a volume: .+ the same private address, 10\.5\.0\.1\.$/u,
    );
    await harness.settle();
    expect(both.flatMap(({ volume }) => clientsOf(volume))).toEqual(['10.5.0.1']);
  });

  it('do not share volumes if the second gets the address after attaching', async () => {
    const [one, other] = [await setUp('10.5.1.1'), await setUp('10.5.1.2')];
    for (const each of [one, other])
      expect(await attach(each.tenant, each.volume, each.rental)).toBe('attached');
    await harness.onMachines(other.rental, `private_ip = '10.5.1.1'`);
    await harness.run((tx) => bumpSpecVersionsOfRental(tx, other.tenant.orgId, other.rental.id));
    await harness.settle();
    expect([clientsOf(one.volume), clientsOf(other.volume)]).toEqual([['10.5.1.1'], []]);
  });

  it('transfer the address when the machine that holds it is deleted', async () => {
    const [one, other] = [await setUp('10.5.2.1'), await setUp('10.5.2.1')];
    expect(await attach(one.tenant, one.volume, one.rental)).toBe('attached');
    await harness.onMachines(one.rental, `state = 'doomed', doomed_at = now()`);
    expect(await attach(other.tenant, other.volume, other.rental)).not.toBe('attached');
    await harness.onMachines(one.rental, `state = 'gone', gone_at = now(), absent_seen = 2`);
    expect(await attach(other.tenant, other.volume, other.rental)).toBe('attached');
  });
});

describe('migration 0045 in an installation whose machines share addresses', () => {
  it('keeps the volume of the oldest rental, disconnects the others, and never blocks readers', async () => {
    const client = await harness.database.connect();
    const all = [await setUp('10.5.3.1'), await setUp('10.5.3.1'), await setUp('10.5.3.1')];
    const unattached = await setUp('10.5.3.1');
    await client.query(`drop table storage_addresses; drop function note_storage_addresses() cascade;
      drop function hold_storage_addresses(uuid[])`);
    for (const { tenant, volume, rental } of all) {
      await client.query(
        `insert into volume_attachments (volume_id, rental_id, org_id, mode, attached_at) values ($1, $2, $3, 'live', now())`,
        [toUuid(volume.id), toUuid(rental.id), toUuid(tenant.orgId)],
      );
    }
    const file = new URL('../../../../../db/migrations/0045_unique_storage_addresses.sql', import.meta.url);
    await client.query('begin');
    await client.query(await readFile(file, 'utf8'));
    const { rows: locks } = await client.query<{ mode: string }>(
      `select distinct mode from pg_locks where pid = pg_backend_pid()
          and relation in ('rental_machines'::regclass, 'volume_attachments'::regclass, 'rentals'::regclass)`,
    );
    await client.query('commit');
    expect(locks.map(({ mode }) => mode)).toContain('ShareRowExclusiveLock');
    expect(locks.map(({ mode }) => mode)).not.toContain('AccessExclusiveLock');
    const { rows: held } = await client.query<{ rental_id: string }>(
      `select rental_id from storage_addresses where address = '10.5.3.1'`,
    );
    await client.end();
    expect(held).toEqual([{ rental_id: all.map(({ rental }) => toUuid(rental.id)).toSorted()[0] }]);
    for (const { tenant, rental } of all)
      await harness.run((tx) => bumpSpecVersionsOfRental(tx, tenant.orgId, rental.id));
    await harness.settle();
    expect(all.map(({ volume }) => clientsOf(volume))).toEqual([['10.5.3.1'], [], []]);
    expect(await attach(unattached.tenant, unattached.volume, unattached.rental)).not.toBe('attached');
  });
});
