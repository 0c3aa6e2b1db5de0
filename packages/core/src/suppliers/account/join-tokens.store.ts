import type { Reader, Tables, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type JoinTokenId, type OrgId, type UserId } from '@millrace/platform/ids';
import { sql, type Selectable } from 'kysely';
import type { JoinToken } from './join-tokens.ts';
import type { Supplier } from './suppliers.ts';
import type { SupplierPageRequest } from './suppliers.store.ts';

/** SQL of join tokens. Only the hash of a token is stored. */

function toToken(row: Selectable<Tables['supplier_join_tokens']>): JoinToken {
  return {
    id: fromUuid('jtk', row.id),
    supplierId: fromUuid('sup', row.supplier_id),
    orgId: fromUuid('org', row.org_id),
    description: row.description,
    clusterName: row.cluster_name,
    region: row.region,
    maxMachines: row.max_machines,
    usedMachines: row.used_machines,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    createdAt: row.created_at,
  };
}

export interface NewJoinToken {
  readonly description: string;
  readonly clusterName: string;
  readonly region: string;
  readonly maxMachines: number;
  readonly expiresAt: Date;
}

export async function insertJoinToken(
  tx: Tx,
  supplier: Supplier,
  fields: NewJoinToken & { readonly sha256: Buffer; readonly createdBy: UserId },
): Promise<JoinToken> {
  const row = await tx.kysely
    .insertInto('supplier_join_tokens')
    .values({
      id: toUuid(tx.ids.next('jtk')),
      supplier_id: toUuid(supplier.id),
      org_id: toUuid(supplier.orgId),
      description: fields.description,
      cluster_name: fields.clusterName,
      region: fields.region,
      max_machines: fields.maxMachines,
      secret_hash: fields.sha256,
      expires_at: fields.expiresAt,
      created_by: toUuid(fields.createdBy),
      created_at: tx.clock.now(),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toToken(row);
}

/** Newest first, also unusable ones; returns one more than the limit if there are more. */
export async function listJoinTokens(
  reader: Reader,
  orgId: OrgId,
  page: SupplierPageRequest<JoinTokenId>,
): Promise<readonly JoinToken[]> {
  let query = reader.kysely
    .selectFrom('supplier_join_tokens')
    .selectAll()
    .where('org_id', '=', toUuid(orgId));
  if (page.after !== null) query = query.where('id', '<', toUuid(page.after));
  const rows = await query
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute();
  return rows.map(toToken);
}

export async function countUsableTokens(reader: Reader, orgId: OrgId, now: Date): Promise<number> {
  const { tokens } = await reader.kysely
    .selectFrom('supplier_join_tokens')
    .select((count) => count.fn.countAll<bigint>().as('tokens'))
    .where('org_id', '=', toUuid(orgId))
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .where(sql<boolean>`used_machines < max_machines`)
    .executeTakeFirstOrThrow();
  return Number(tokens);
}

/** Returns false when the token was revoked before (the first time stays), null when the organisation has no such token. */
export async function revokeToken(tx: Tx, orgId: OrgId, id: JoinTokenId): Promise<boolean | null> {
  const row = await tx.kysely
    .selectFrom('supplier_join_tokens')
    .select('revoked_at')
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (row === undefined) return null;
  if (row.revoked_at !== null) return false;
  await tx.kysely
    .updateTable('supplier_join_tokens')
    .set({ revoked_at: tx.clock.now() })
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .execute();
  return true;
}

/** Reads without an organisation id, because the hash identifies the owner. The lock enforces the token's limit. */
export async function lockTokenByHash(tx: Tx, sha256: Buffer): Promise<JoinToken | null> {
  const row = await tx.kysely
    .selectFrom('supplier_join_tokens')
    .selectAll()
    .where('secret_hash', '=', sha256)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row === undefined ? null : toToken(row);
}

/** The caller holds the lock and has checked that the token is usable. */
export async function incrementTokenUse(tx: Tx, orgId: OrgId, id: JoinTokenId): Promise<void> {
  await tx.kysely
    .updateTable('supplier_join_tokens')
    .set((now) => ({ used_machines: now('used_machines', '+', 1) }))
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .execute();
}
