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

/** Returns the rentals that were not attached before. */
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

/** Returns the rentals that were detached. */
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

/** The attached rentals of each volume, in order of their wire ids. */
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

/** Attached rentals that have ended or are terminating. */
export async function listEndedAttachedRentals(tx: Tx, volume: VolumeRef): Promise<readonly RentalId[]> {
  const { rows } = await sql<{ rental_id: string }>`
    select held.rental_id from volume_attachments as held
     where held.volume_id = ${toUuid(volume.id)} and held.org_id = ${toUuid(volume.orgId)} and held.detached_at is null
       and ${hasRentalEnded('held.rental_id')}`.execute(tx.kysely);
  return rows.map((row) => fromUuid('rnt', row.rental_id));
}

/** Whether storage servers may admit the machine by its address. In live mode it must hold the address in its region. */
const holdsAddress = sql`machine.private_ip is not null and (machine.mode = 'test' or exists (
         select 1 from storage_addresses as own
          where own.region = machine.region and own.address = machine.private_ip
            and (own.rental_id, own.attempt, own.position) = (machine.rental_id, machine.attempt, machine.position)))`;

/**
 * The present machines of active rentals that are neither disconnected nor terminating and that hold their address in the
 * region, so that no other machine is admitted by it.
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
 * Machines of these rentals with a volume whose private address another machine with a volume holds. Storage servers do
 * not admit them. The database gives an address to the first machine with a volume, and to none if the text is too
 * long.
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
 * Sorted, distinct addresses of the machines that may use the volume. Invalid addresses are left out, because a storage
 * server would refuse the whole list and continue with the old one.
 */
export async function listClients(reader: Reader, volume: VolumeRef): Promise<readonly string[]> {
  const { rows } = await sql<{ address: string }>`
    select distinct machine.private_ip as address ${usableMachines}
     where held.volume_id = ${toUuid(volume.id)} and held.org_id = ${toUuid(volume.orgId)} and held.detached_at is null
     order by machine.private_ip`.execute(reader.kysely);
  return rows.map(({ address }) => address).filter(isHostAddress);
}

/** The same for all volumes of a storage node in one query, across organisations. */
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
 * Whether a backend may still admit a terminating machine of this rental; until it does not, the address must not be
 * reused. Addresses that another machine of the rental has by now do not count.
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
 * Volumes that a rental was ordered with and that were never usable. Running rentals attach only active volumes, so
 * other attachments came with the order. A volume that failed was detached when its purge began; one that the tenant
 * detached is not expected.
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
