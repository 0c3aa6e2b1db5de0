import { sql } from 'kysely';
import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { Reader, Tables, Tx } from '../../db/index.ts';
import type { Actor, Mode } from '../../envelope/index.ts';
import { fromUuid, toUuid } from '../../ids/index.ts';
import type { OperationId, OrgId } from '../../ids/index.ts';

/** One remembered request. */
export interface StoredOperation {
  readonly id: OperationId;
  readonly idempotencyKey: string;
  /** The contract's operation, such as `createApiKey`. */
  readonly operation: string;
  readonly requestHash: Buffer;
  readonly mode: Mode;
  readonly actor: Actor;
  /** Null while the transaction that makes the effect is open; nobody else can see it then. */
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
 * The right to run under this key until the transaction ends; false when someone else holds it. The lock is
 * the database's own, so it goes with the connection whatever becomes of the process. Two keys that hash alike
 * only wait for each other.
 */
function tryLock(orgId: OrgId, key: string) {
  return sql<boolean>`pg_try_advisory_xact_lock(hashtextextended(${`idempotency:${orgId}:${key}`}, 0))`;
}

/**
 * Locks and claims the key in one statement. False when someone else holds the lock, or when there is a row already,
 * seen or not yet seen by this transaction. Without the lock the insert would wait for the other's transaction and
 * hold a connection meanwhile.
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

/** Claims a key whose time is over by `claim.createdAt`, as if it had never been used. */
export async function reclaimExpiredKey(tx: Tx, orgId: OrgId, claim: KeyClaim): Promise<boolean> {
  // Asked for again: whether the first claim failed for want of the lock or because of the row is not known.
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
    throw new Error('The claim of an idempotency key vanished inside its transaction.');
}

/** The sweep over all organisations, in bites that hold no lock for long. Answers how many rows went. */
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
