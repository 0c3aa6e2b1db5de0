import { sql } from 'kysely';
import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { Reader, Tables, Tx } from '../../db/index.ts';
import type { Actor, Mode } from '../../envelope/index.ts';
import { fromUuid, toUuid } from '../../ids/index.ts';
import type { OperationId, OrgId } from '../../ids/index.ts';

/** A request with its stored response. */
export interface StoredOperation {
  readonly id: OperationId;
  readonly idempotencyKey: string;
  /** The contract's operation, such as `createApiKey`. */
  readonly operation: string;
  readonly requestHash: Buffer;
  readonly mode: Mode;
  readonly actor: Actor;
  /** Null while the transaction is open, when only that transaction sees the row. */
  readonly status: number | null;
  readonly body: unknown;
  readonly resource: { readonly kind: string; readonly id: string } | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export type KeyClaim = Pick<
  StoredOperation,
  'id' | 'idempotencyKey' | 'operation' | 'requestHash' | 'mode' | 'actor' | 'createdAt' | 'expiresAt'
>;

/**
 * Locks the key until the transaction ends; false if another transaction holds it. PostgreSQL releases the lock with
 * the connection, even if the process dies. Keys with the same hash only wait for each other.
 */
function tryLock(orgId: OrgId, key: string) {
  return sql<boolean>`pg_try_advisory_xact_lock(hashtextextended(${`idempotency:${orgId}:${key}`}, 0))`;
}

/**
 * Locks and claims the key in one statement. False if another transaction holds the lock or the row exists, visible to
 * this transaction or not. Without the lock the insert would hold a connection while it waits for the other
 * transaction.
 */
export async function claimKey(tx: Tx, orgId: OrgId, claim: KeyClaim): Promise<boolean> {
  const result = await sql`
    insert into idempotency_keys
      (org_id, key, operation_row_id, operation_id, request_hash, mode, actor, created_at, expires_at)
    select ${toUuid(orgId)}::uuid, ${claim.idempotencyKey}::text, ${toUuid(claim.id)}::uuid,
      ${claim.operation}::text, ${claim.requestHash}::bytea, ${claim.mode}::text,
      ${JSON.stringify(claim.actor)}::jsonb, ${claim.createdAt}::timestamptz, ${claim.expiresAt}::timestamptz
    where ${tryLock(orgId, claim.idempotencyKey)}
    on conflict (org_id, key) do nothing
  `.execute(tx.kysely);
  return result.numAffectedRows === 1n;
}

/** Claims a key that expired by `claim.createdAt`, as if it were new. */
export async function reclaimExpiredKey(tx: Tx, orgId: OrgId, claim: KeyClaim): Promise<boolean> {
  // The first claim failed because of the lock or the row; lock again to know that it was the row.
  const { rows } = await sql<{ locked: boolean }>`
    select ${tryLock(orgId, claim.idempotencyKey)} as locked
  `.execute(tx.kysely);
  if (rows[0]?.locked !== true) return false;
  await tx.kysely
    .deleteFrom('idempotency_keys')
    .where('org_id', '=', toUuid(orgId))
    .where('key', '=', claim.idempotencyKey)
    .where('expires_at', '<=', claim.createdAt)
    .execute();
  return claimKey(tx, orgId, claim);
}

export async function storeResponse(
  tx: Tx,
  orgId: OrgId,
  key: string,
  response: Pick<StoredOperation, 'body' | 'resource'> & { readonly status: number },
): Promise<void> {
  const result = await tx.kysely
    .updateTable('idempotency_keys')
    .set({
      status: response.status,
      body: response.body === undefined ? null : JSON.stringify(response.body),
      resource_kind: response.resource?.kind ?? null,
      resource_id: response.resource?.id ?? null,
    })
    .where('org_id', '=', toUuid(orgId))
    .where('key', '=', key)
    .where('status', 'is', null)
    .executeTakeFirst();
  if (result.numUpdatedRows !== 1n)
    throw new Error('The claimed idempotency key is missing inside its transaction.');
}

/** Deletes expired rows of all organisations in batches, to hold locks briefly. Returns the number of deleted rows. */
export async function deleteExpiredOperations(tx: Tx, limit: number): Promise<number> {
  const result = await tx.kysely
    .deleteFrom('idempotency_keys')
    .where('operation_row_id', 'in', (expired) =>
      expired
        .selectFrom('idempotency_keys')
        .select('operation_row_id')
        .where('expires_at', '<=', tx.clock.now())
        .orderBy('expires_at')
        .limit(limit)
        .forUpdate()
        .skipLocked(),
    )
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}

export async function findOperationByKey(
  reader: Reader,
  orgId: OrgId,
  key: string,
): Promise<StoredOperation | null> {
  const row = await reader.kysely
    .selectFrom('idempotency_keys')
    .selectAll()
    .where('org_id', '=', toUuid(orgId))
    .where('key', '=', key)
    .executeTakeFirst();
  return row === undefined ? null : fromRow(row);
}

export async function findOperationById(
  reader: Reader,
  orgId: OrgId,
  id: OperationId,
): Promise<StoredOperation | null> {
  const row = await reader.kysely
    .selectFrom('idempotency_keys')
    .selectAll()
    .where('org_id', '=', toUuid(orgId))
    .where('operation_row_id', '=', toUuid(id))
    .executeTakeFirst();
  return row === undefined ? null : fromRow(row);
}

function fromRow(row: Selectable<Tables['idempotency_keys']>): StoredOperation {
  return {
    id: fromUuid('op', row.operation_row_id),
    idempotencyKey: row.key,
    operation: row.operation_id,
    requestHash: row.request_hash,
    mode: row.mode,
    actor: toActor(row.actor),
    status: row.status,
    body: row.body,
    resource:
      row.resource_kind === null || row.resource_id === null
        ? null
        : { kind: row.resource_kind, id: row.resource_id },
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}

const actorShape = z.object({ kind: z.enum(['key', 'user', 'operator', 'system']), id: z.string() });

function toActor(stored: unknown): Actor {
  return actorShape.parse(stored);
}
