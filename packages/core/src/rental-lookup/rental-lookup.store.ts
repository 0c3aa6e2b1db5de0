import type { Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type OrgId, type RentalId } from '@millrace/platform/ids';
import { sql, type RawBuilder } from 'kysely';

export interface LockedRental {
  readonly id: RentalId;
  readonly wireId: number;
  readonly kind: string;
  readonly region: string;
  readonly status: string;
}

/** Without marketplace instances. The locks keep the rentals from ending before this transaction ends. */
export async function lockRentals(
  tx: Tx,
  orgId: OrgId,
  mode: Mode,
  wireIds: readonly number[],
): Promise<readonly LockedRental[]> {
  const { rows } = await sql<{ id: string; wire_id: number; kind: string; region: string; status: string }>`
    select id, wire_id, kind, region, status from rentals
     where wire_id = any(${wireIds}::integer[]) and org_id = ${toUuid(orgId)} and mode = ${mode} and kind <> 'instance'
     order by id for share`.execute(tx.kysely);
  return rows.map((row) => ({
    id: fromUuid('rnt', row.id),
    wireId: row.wire_id,
    kind: row.kind,
    region: row.region,
    status: row.status,
  }));
}

export function rentalWireId(column: string): RawBuilder<number> {
  return sql<number>`(select wire_id from rentals where rentals.id = ${sql.ref(column)})`;
}

/** Name and region of these rentals and instances. Columns: kind, id (the wire id as text), name, region. */
export function rentalLabels(orgId: OrgId, wireIds: readonly number[]): RawBuilder<unknown> {
  return sql`(
    select case kind when 'instance' then 'instance' else 'rental' end as kind, wire_id::text as id,
           coalesce(name, label) as name, region
      from rentals
     where org_id = ${toUuid(orgId)} and wire_id = any(${wireIds}::bigint[]))`;
}

/** Whether the rental that the column refers to has ended or is ending. */
export function hasRentalEnded(column: string): RawBuilder<boolean> {
  return sql<boolean>`exists (select from rentals
     where rentals.id = ${sql.ref(column)} and rentals.status in ('Failed', 'Terminating', 'Terminated'))`;
}

/**
 * Machines of each rental's current attempt that an engine has and that are not marked for deletion. Columns: rental_id, attempt,
 * position, mode, external_id, private_ip and cut_at of the machine; org_id, wire_id, region and status of its rental.
 */
export const presentMachines = sql`(
  select machine.rental_id, machine.attempt, machine.position, machine.mode, machine.external_id, machine.private_ip,
         machine.cut_at, rental.org_id, rental.wire_id, rental.region, rental.status
    from rentals as rental
    join rental_machines as machine on machine.rental_id = rental.id and machine.attempt = rental.attempt
     and machine.state in ('made', 'proven', 'open'))`;

/** Private addresses that only machines marked for deletion still have. Column: private_ip. */
export function abandonedAddresses(rentalId: RentalId): RawBuilder<unknown> {
  return sql`(
    select machine.private_ip from rental_machines as machine
     where machine.rental_id = ${toUuid(rentalId)} and machine.state = 'doomed'
       and not exists (select 1 from rental_machines as other
                        where other.rental_id = machine.rental_id and other.private_ip = machine.private_ip
                          and other.state in ('made', 'proven', 'open')))`;
}

/**
 * One row about the starting or running rentals of the keys. `keys` is a relation with the column id. Columns: live, their
 * number; rentals, the sum of the highest hourly rate of each.
 */
export function runningRentalTotals(orgId: OrgId, keys: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(
    select count(*) as live, sum(dearest.rate)::bigint as rentals
      from ${keys} as used
      join rentals as rental on rental.key_id = used.id and rental.org_id = ${toUuid(orgId)}
       and rental.status <> 'Terminated' and rental.status in ('Pending', 'Running', 'Unknown')
     cross join lateral (select max((term.price ->> 'rateNanoUsdPerHour')::bigint) as rate
                           from rental_terms as term where term.rental_id = rental.id) as dearest)`;
}

/** Marketplace instances and their nodes. Columns: rental_id, wire_id, node_id, started_at. */
export const placedInstances = sql`(
  select instance.rental_id, rental.wire_id, instance.node_id, rental.started_at
    from instances as instance join rentals as rental on rental.id = instance.rental_id)`;
