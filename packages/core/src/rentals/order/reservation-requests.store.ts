import type { Reader, Tables, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type OrgId, type ReservationRequestId, type UserId } from '@millrace/platform/ids';
import type { Selectable } from 'kysely';

/** All SQL on reservation requests. */

export interface ReservationRequest {
  readonly id: ReservationRequestId;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly userId: UserId;
  readonly gpuCount: number;
  readonly createdAt: Date;
}

function toRequest(row: Selectable<Tables['reservation_requests']>): ReservationRequest {
  return {
    id: fromUuid('rrq', row.id),
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    userId: fromUuid('usr', row.user_id),
    gpuCount: Number(row.gpu_count),
    createdAt: row.created_at,
  };
}

export async function insertReservationRequest(
  tx: Tx,
  orgId: OrgId,
  request: Pick<ReservationRequest, 'mode' | 'userId' | 'gpuCount'>,
): Promise<ReservationRequest> {
  const row = await tx.kysely
    .insertInto('reservation_requests')
    .values({
      id: toUuid(tx.ids.next('rrq')),
      org_id: toUuid(orgId),
      mode: request.mode,
      user_id: toUuid(request.userId),
      gpu_count: BigInt(request.gpuCount),
      created_at: tx.clock.now(),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toRequest(row);
}

export async function countReservationRequests(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  since: Date,
): Promise<number> {
  const row = await reader.kysely
    .selectFrom('reservation_requests')
    .select((of) => of.fn.countAll<bigint>().as('count'))
    .where('org_id', '=', toUuid(orgId))
    .where('mode', '=', mode)
    .where('created_at', '>', since)
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

/** Live requests of all organisations, newest first. Returns one more than the limit if there is a next page. */
export async function listReservationRequests(
  reader: Reader,
  page: { readonly limit: number; readonly after: ReservationRequestId | null },
): Promise<readonly ReservationRequest[]> {
  let query = reader.kysely.selectFrom('reservation_requests').selectAll().where('mode', '=', 'live');
  if (page.after !== null) query = query.where('id', '<', toUuid(page.after));
  const rows = await query
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute();
  return rows.map(toRequest);
}
