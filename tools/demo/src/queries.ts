import type { Db } from '@millrace/platform/db';
import { fromUuid, type NodeId, type OrgId, type RentalId } from '@millrace/platform/ids';
import { sql } from 'kysely';

/** Queries for facts that no operation of the API returns. */

export async function listUnendedRentals(
  db: Db,
): Promise<readonly { readonly orgId: OrgId; readonly id: RentalId }[]> {
  const { rows } = await sql<{ org_id: string; id: string }>`
    select org_id, id from rentals where status <> 'Terminated' order by id`.execute(db.kysely);
  return rows.map((row) => ({ orgId: fromUuid('org', row.org_id), id: fromUuid('rnt', row.id) }));
}

export async function isEnrolling(db: Db): Promise<boolean> {
  const { rows } = await sql`
    select from supplier_machines where stage in ('trusting', 'inspecting', 'testing') limit 1`.execute(
    db.kysely,
  );
  return rows.length > 0;
}

/** Whether events wait to be numbered, or deliveries to be sent now. */
export async function hasUnsentEvents(db: Db): Promise<boolean> {
  const { rows } = await sql<{ is_waiting: boolean }>`
    select exists (select from outbox where parked_at is null)
        or exists (select from webhook_queues where next_due_at <= ${db.clock.now()}) as is_waiting`.execute(
    db.kysely,
  );
  return rows[0]?.is_waiting ?? false;
}

export async function findNodeId(db: Db, name: string): Promise<NodeId> {
  const { rows } = await sql<{ id: string }>`select id from nodes where name = ${name}`.execute(db.kysely);
  const [row] = rows;
  if (row === undefined) throw new Error(`The node ${name} does not exist.`);
  return fromUuid('nod', row.id);
}

/** The node on which a running rental is. */
export async function findNodeOfRental(db: Db, rentalName: string): Promise<string> {
  const { rows } = await sql<{ name: string }>`
    select node.name from rentals as rental
      join rental_machines as machine on machine.rental_id = rental.id
      join nodes as node on node.id = machine.node_id
     where rental.name = ${rentalName} and rental.status = 'Running'`.execute(db.kysely);
  const [row] = rows;
  if (row === undefined) throw new Error(`The rental ${rentalName} does not run.`);
  return row.name;
}
