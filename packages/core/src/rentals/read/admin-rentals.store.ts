import type { Reader } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type NodeId, type OrgId, type RentalId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import { organisationName } from '../../identity/index.ts';
import type { Power, RentalKind, RentalState } from '../model/rental.ts';

/** SQL that lists rentals of all organisations, for operators. */

export interface AdminRental {
  readonly id: RentalId;
  readonly wireId: number;
  readonly kind: RentalKind;
  readonly orgId: OrgId;
  readonly orgName: string;
  readonly mode: Mode;
  readonly name: string | null;
  readonly providerId: string;
  readonly region: string;
  readonly gpuType: string;
  readonly gpuCount: number;
  readonly nodeIds: readonly NodeId[];
  readonly status: RentalState;
  readonly power: Power;
  readonly gpuHeld: boolean;
  readonly statusReason: string | null;
  readonly statusSince: Date;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
}

export interface AdminRentalPage {
  readonly orgId: OrgId | null;
  readonly nodeId: NodeId | null;
  /** Null: all that have not ended. */
  readonly status: RentalState | null;
  readonly mode: Mode | null;
  readonly after: RentalId | null;
  readonly limit: number;
}

/** Newest first. Returns one more than the limit if there is a next page. */
export async function listAllRentals(reader: Reader, page: AdminRentalPage): Promise<readonly AdminRental[]> {
  let query = reader.kysely.selectFrom('rentals as rental').select([
    'rental.id',
    'rental.wire_id',
    'rental.kind',
    'rental.org_id',
    organisationName('rental.org_id').as('org_name'),
    'rental.mode',
    'rental.name',
    'rental.provider_id',
    'rental.region',
    'rental.gpu_type',
    'rental.gpu_count',
    'rental.status',
    'rental.power',
    'rental.gpu_held',
    'rental.status_reason',
    'rental.status_since',
    'rental.created_at',
    'rental.started_at',
    'rental.ended_at',
    // Only nodes of the current attempt: a failed attempt may have been on others.
    sql<string[]>`array(select distinct machine.node_id::text from rental_machines as machine
         where machine.rental_id = rental.id and machine.attempt = rental.attempt order by 1)`.as('node_ids'),
  ]);
  query =
    page.status === null
      ? query.where('rental.status', '<>', 'Terminated')
      : query.where('rental.status', '=', page.status);
  if (page.orgId !== null) query = query.where('rental.org_id', '=', toUuid(page.orgId));
  if (page.mode !== null) query = query.where('rental.mode', '=', page.mode);
  const { nodeId } = page;
  if (nodeId !== null) {
    query = query.where('rental.id', 'in', (of) =>
      of
        .selectFrom('rental_machines')
        .select('rental_machines.rental_id')
        .where('rental_machines.node_id', '=', toUuid(nodeId))
        .where('rental_machines.state', '<>', 'gone'),
    );
  }
  if (page.after !== null) query = query.where('rental.id', '<', toUuid(page.after));
  const rows = await query
    .orderBy('rental.id', 'desc')
    .limit(page.limit + 1)
    .execute();
  return rows.map((row) => ({
    id: fromUuid('rnt', row.id),
    wireId: row.wire_id,
    kind: row.kind,
    orgId: fromUuid('org', row.org_id),
    orgName: row.org_name,
    mode: row.mode,
    name: row.name,
    providerId: row.provider_id,
    region: row.region,
    gpuType: row.gpu_type,
    gpuCount: row.gpu_count,
    nodeIds: row.node_ids.map((id) => fromUuid('nod', id)),
    status: row.status as RentalState,
    power: row.power,
    gpuHeld: row.gpu_held,
    statusReason: row.status_reason,
    statusSince: row.status_since,
    createdAt: row.created_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
  }));
}

/** Counts rentals and instances that have not ended; `rentals_live_idx` contains only those. */
export async function countRentals(reader: Reader, mode: Mode): Promise<ReadonlyMap<RentalState, number>> {
  const { rows } = await sql<{ status: RentalState; rentals: bigint }>`
    select status, count(*) as rentals from rentals
     where mode = ${mode} and status <> 'Terminated' group by status
  `.execute(reader.kysely);
  return new Map(rows.map(({ status, rentals }) => [status, Number(rentals)]));
}
