import type { Reader, Tx } from '@millrace/platform/db';
import {
  fromUuid,
  toUuid,
  type OrgId,
  type RentalId,
  type StorageNodeId,
  type VolumeId,
} from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { isHostAddress } from '@millrace/storage/wire';
import { sql } from 'kysely';
import {
  abandonedAddresses,
  hasRentalEnded,
  presentMachines,
  rentalWireId,
} from '../../rental-lookup/index.ts';
import type { Volume, VolumeRef } from './volume.ts';

/** All SQL about which rentals have which volumes. */

/** Attaches, and answers which were not attached before. */
export async function insertAttachments(
  tx: Tx,
  volume: Pick<Volume, 'id' | 'orgId' | 'mode'>,
  rentalIds: readonly RentalId[],
): Promise<readonly RentalId[]> {
  const { rows } = await sql<{ rental_id: string }>`
    insert into volume_attachments (volume_id, rental_id, org_id, mode, attached_at)
    select ${toUuid(volume.id)}, rental_id, ${toUuid(volume.orgId)}, ${volume.mode}, ${tx.clock.now()}
      from unnest(${rentalIds.map(toUuid)}::uuid[]) as wished (rental_id)
    on conflict (volume_id, rental_id) where detached_at is null do nothing
    returning rental_id`.execute(tx.kysely);
  return rows.map((row) => fromUuid('rnt', row.rental_id));
}

export interface AttachedRental {
  readonly rentalId: RentalId;
  readonly wireId: number;
}

/** Detaches from these rentals, or from all of them, and answers from which. */
export async function endAttachments(
  tx: Tx,
  volume: VolumeRef,
  rentalIds: readonly RentalId[] | 'all',
): Promise<readonly AttachedRental[]> {
  const { rows } = await sql<{ id: string; wire_id: number }>`
    update volume_attachments as held set detached_at = greatest(held.attached_at, ${tx.clock.now()}::timestamptz)
     where held.volume_id = ${toUuid(volume.id)} and held.org_id = ${toUuid(volume.orgId)} and held.detached_at is null
       and (${rentalIds === 'all'} or held.rental_id = any(${rentalIds === 'all' ? [] : rentalIds.map(toUuid)}::uuid[]))
    returning held.rental_id as id, ${rentalWireId('held.rental_id')} as wire_id`.execute(tx.kysely);
  return rows
    .map((row) => ({ rentalId: fromUuid('rnt', row.id), wireId: row.wire_id }))
    .toSorted((one, other) => one.wireId - other.wireId);
}

/** The rentals that have each of these volumes, by the ids that clients know, in their order. */
export async function listAttachedRentals(
  reader: Reader,
  orgId: OrgId,
  volumeIds: readonly VolumeId[],
): Promise<ReadonlyMap<VolumeId, readonly AttachedRental[]>> {
  const holders = new Map<VolumeId, AttachedRental[]>();
  if (volumeIds.length === 0) return holders;
  const { rows } = await sql<{ volume_id: string; rental_id: string; wire_id: number }>`
    select held.volume_id, held.rental_id, ${rentalWireId('held.rental_id')} as wire_id
      from volume_attachments as held
     where held.org_id = ${toUuid(orgId)} and held.volume_id = any(${volumeIds.map(toUuid)}::uuid[])
       and held.detached_at is null
     order by wire_id`.execute(reader.kysely);
  for (const row of rows) {
    const id = fromUuid('vol', row.volume_id);
    const known = holders.get(id) ?? [];
    known.push({ rentalId: fromUuid('rnt', row.rental_id), wireId: row.wire_id });
    holders.set(id, known);
  }
  return holders;
}

/** Of those that have the volume, the ones that have ended, or are about to, and were not detached. */
export async function listEndedAttachedRentals(tx: Tx, volume: VolumeRef): Promise<readonly RentalId[]> {
  const { rows } = await sql<{ rental_id: string }>`
    select held.rental_id from volume_attachments as held
     where held.volume_id = ${toUuid(volume.id)} and held.org_id = ${toUuid(volume.orgId)} and held.detached_at is null
       and ${hasRentalEnded('held.rental_id')}`.execute(tx.kysely);
  return rows.map((row) => fromUuid('rnt', row.rental_id));
}

/** Whether storage servers may know the machine by its address. In live mode it must hold the address in its region. */
const holdsAddress = sql`machine.private_ip is not null and (machine.mode = 'test' or exists (
         select 1 from storage_addresses as own
          where own.region = machine.region and own.address = machine.private_ip
            and (own.rental_id, own.attempt, own.position) = (machine.rental_id, machine.attempt, machine.position)))`;

/**
 * The machines that may use a volume: of rentals that go on, their present ones, neither cut off nor to be removed, that have
 * an address which no other machine of the region is known by.
 */
const usableMachines = sql`
      from volume_attachments as held
      join ${presentMachines} as machine on machine.rental_id = held.rental_id
       and machine.status in ('Pending', 'Running', 'Unknown') and machine.cut_at is null
       and ${holdsAddress}`;

export interface SharedAddress {
  readonly rentalWireId: number;
  readonly externalId: string;
  readonly address: string;
}

/**
 * The machines of these rentals that have a volume and the private address of another machine with one. No storage server lets them
 * in. The database gives an address to the first machine that has both a volume and the address. A text that is too long for an
 * address is given to none.
 */
export async function listSharedAddresses(
  reader: Reader,
  orgId: OrgId,
  rentalIds: readonly RentalId[],
): Promise<readonly SharedAddress[]> {
  const { rows } = await sql<SharedAddress>`
    select machine.wire_id as "rentalWireId", machine.external_id as "externalId", machine.private_ip as address
      from ${presentMachines} as machine
     where machine.rental_id = any(${rentalIds.map(toUuid)}::uuid[]) and machine.org_id = ${toUuid(orgId)}
       and exists (select 1 from volume_attachments as held
                    where held.rental_id = machine.rental_id and held.detached_at is null)
       and length(machine.private_ip) <= 64 and not (${holdsAddress})
     order by machine.wire_id, machine.position`.execute(reader.kysely);
  return rows;
}

/**
 * The private addresses of the machines that may use the volume. Sorted, each once. Engines say what they like: what no
 * machine can have as its IPv4 address is let in by no storage server, which would refuse the whole list and serve the old
 * one on.
 */
export async function listClients(reader: Reader, volume: VolumeRef): Promise<readonly string[]> {
  const { rows } = await sql<{ address: string }>`
    select distinct machine.private_ip as address ${usableMachines}
     where held.volume_id = ${toUuid(volume.id)} and held.org_id = ${toUuid(volume.orgId)} and held.detached_at is null
     order by machine.private_ip`.execute(reader.kysely);
  return rows.map(({ address }) => address).filter(isHostAddress);
}

/** The same of every volume of a storage node, of every organisation, with one question. */
export async function listClientsOfNode(
  reader: Reader,
  nodeId: StorageNodeId,
): Promise<ReadonlyMap<VolumeId, readonly string[]>> {
  const { rows } = await sql<{ id: string; addresses: string[] }>`
    select held.volume_id as id, array_agg(distinct machine.private_ip) as addresses ${usableMachines}
      join volumes as volume on volume.id = held.volume_id and volume.org_id = held.org_id
     where volume.node_id = ${toUuid(nodeId)} and volume.phase <> 'purged' and held.detached_at is null
     group by held.volume_id`.execute(reader.kysely);
  return new Map(rows.map(({ id, addresses }) => [fromUuid('vol', id), addresses.filter(isHostAddress)]));
}

/**
 * Whether a backend may be letting in a machine of this rental that is to be removed: until then nobody else may get its
 * address. An address that another machine of the rental has by now is not meant.
 */
export async function isAddressStillServed(reader: Reader, orgId: OrgId, id: RentalId): Promise<boolean> {
  const { rows } = await sql<{ served: boolean }>`
    select exists (
      select 1 from volume_attachments as held
        join volumes as volume on volume.id = held.volume_id and volume.phase <> 'purged'
        join ${abandonedAddresses(id)} as abandoned on abandoned.private_ip = any(volume.served_clients)
       where held.rental_id = ${toUuid(id)} and held.org_id = ${toUuid(orgId)}) as served`.execute(
    reader.kysely,
  );
  return rows[0]?.served ?? false;
}

export interface UnprovisionedVolume {
  readonly label: string;
  readonly isGivenUp: boolean;
  readonly endReason: string | null;
}

/**
 * The volumes that a rental was ordered with and that have never been usable. Only active volumes are attached to a rental
 * that runs, so every other attachment was made with its order. A volume that the tenant has detached is not expected any more;
 * one that was given up was detached when its purge began.
 */
export async function listUnprovisioned(
  reader: Reader,
  orgId: OrgId,
  rentalId: RentalId,
): Promise<readonly UnprovisionedVolume[]> {
  const { rows } = await sql<UnprovisionedVolume>`
    select volume.label, volume.phase <> 'provisioning' as "isGivenUp", volume.end_reason as "endReason"
      from volume_attachments as held join volumes as volume on volume.id = held.volume_id
     where held.rental_id = ${toUuid(rentalId)} and held.org_id = ${toUuid(orgId)} and volume.started_at is null
       and (held.detached_at is null or held.detached_at >= volume.purge_at)
     order by volume.wire_id`.execute(reader.kysely);
  return rows;
}

export interface AttachedVolumeRow {
  readonly rentalId: RentalId;
  readonly volume: {
    readonly id: VolumeId;
    readonly wireId: number;
    readonly ratePerHour: NanoUsd;
    readonly sizeGb: number;
    readonly label: string;
    readonly vip: string;
  };
}

/** The volumes that each of these rentals has, in the order of their ids. */
export async function listAttachedVolumes(
  reader: Reader,
  orgId: OrgId,
  rentalIds: readonly RentalId[],
): Promise<readonly AttachedVolumeRow[]> {
  if (rentalIds.length === 0) return [];
  const { rows } = await sql<{
    rental_id: string;
    id: string;
    wire_id: number;
    rate: bigint;
    size_gb: number;
    label: string;
    vip: string;
  }>`
    select held.rental_id, volume.id, volume.wire_id, (volume.price ->> 'rateNanoUsdPerHour')::bigint as rate,
           volume.size_gb, volume.label, volume.vip
      from volume_attachments as held join volumes as volume on volume.id = held.volume_id
     where held.org_id = ${toUuid(orgId)} and held.rental_id = any(${rentalIds.map(toUuid)}::uuid[])
       and held.detached_at is null
     order by volume.wire_id`.execute(reader.kysely);
  return rows.map((row) => ({
    rentalId: fromUuid('rnt', row.rental_id),
    volume: {
      id: fromUuid('vol', row.id),
      wireId: row.wire_id,
      ratePerHour: nanoUsd(row.rate),
      sizeGb: row.size_gb,
      label: row.label,
      vip: row.vip,
    },
  }));
}
