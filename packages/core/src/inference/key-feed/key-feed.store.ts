import type { ApiKeyLimits, PlatformRole, Role } from '@millrace/contract';
import type { Reader, Tx } from '@millrace/platform/db';
import { fromUuid } from '@millrace/platform/ids';
import { isItemAvailable } from '@millrace/platform/loops';
import { sql } from 'kysely';
import type { KeyRecord, OrganisationRecord } from './key-feed-entries.ts';
import { writeKeyFeed } from '../loops.ts';

/**
 * All SQL behind the gateway book. It is a projection, so it reads what other features own, whole installations at a
 * time: the reads here are of no one organisation.
 */

export type KeyFeedEntryKind = 'key' | 'organisation' | 'model';

export interface KeyFeedChange {
  readonly id: bigint;
  readonly kind: KeyFeedEntryKind;
  readonly ref: string;
}

/** The oldest that have waited so long. */
export async function listKeyFeedChanges(
  reader: Reader,
  request: { readonly limit: number; readonly waitedMs: number; readonly now: Date },
): Promise<readonly KeyFeedChange[]> {
  const item = sql<string>`book_changes.kind || ' ' || book_changes.ref`;
  const rows = await reader.kysely
    .selectFrom('book_changes')
    .select(['id', 'kind', 'ref'])
    .where(
      'changed_at',
      '<=',
      sql<Date>`clock_timestamp() - make_interval(secs => ${request.waitedMs} * 0.001)`,
    )
    .where(isItemAvailable(writeKeyFeed, item, request.now))
    .orderBy('id')
    .limit(request.limit)
    .execute();
  return rows;
}

export async function deleteKeyFeedChanges(tx: Tx, ids: readonly bigint[]): Promise<void> {
  await tx.kysely
    .deleteFrom('book_changes')
    .where('id', 'in', [...ids])
    .execute();
}

interface KeyRow {
  id: string;
  public_id: string;
  org_id: string;
  mode: 'live' | 'test';
  secret_sha256: Buffer;
  scopes: string[];
  limits: Partial<ApiKeyLimits>;
  allowed_ips: string[];
  expires_at: Date | null;
  revoked_at: Date | null;
  revoked_reason: string | null;
  role: Role | null;
  platform_roles: PlatformRole[];
  budget_ids: string[];
}

/**
 * A budget that only tells is none of a gateway's business: it counts when the charge is posted. Nor is one of the whole
 * organisation: what is lent to its pot is held against that already, so counting it again would halve it.
 */
export async function readKeyRecords(
  reader: Reader,
  publicIds: readonly string[],
): Promise<readonly KeyRecord[]> {
  const { rows } = await sql<KeyRow>`
    select key.id, key.public_id, key.org_id, key.mode, key.secret_sha256, key.scopes, key.limits,
           key.allowed_ips::text[] as allowed_ips, key.expires_at, key.revoked_at, key.revoked_reason, member.role,
           array(select held.role from platform_roles held where held.user_id = key.user_id order by held.role)
             as platform_roles,
           array(select budget.id::text from budgets budget
                  where budget.org_id = key.org_id and budget.mode = key.mode and key.mode = 'live'
                    and budget.deleted_at is null and budget.on_exceeded <> 'notify'
                    and key.id = any (budget.key_ids)
                  order by budget.id) as budget_ids
      from api_keys key
      left join members member on member.org_id = key.org_id and member.user_id = key.user_id
     where key.public_id = any (${[...publicIds]}::text[]) and key.kind = 'key'
  `.execute(reader.kysely);
  return rows.map((row) => ({
    keyId: fromUuid('key', row.id),
    publicId: row.public_id,
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    secretSha256: row.secret_sha256,
    scopes: row.scopes,
    limits: row.limits,
    allowedIps: row.allowed_ips,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    revokedReason: row.revoked_reason,
    role: row.role,
    platformRoles: row.platform_roles,
    budgetIds: row.budget_ids.map((id) => fromUuid('bdg', id)),
  }));
}

export async function readOrganisationRecords(
  reader: Reader,
  refs: readonly string[],
): Promise<readonly (OrganisationRecord & { readonly ref: string })[]> {
  const rows = await reader.kysely
    .selectFrom('organisations')
    .select(['id', 'status', 'funded_at'])
    .where('id', 'in', [...refs])
    .execute();
  return rows.map(({ id, status, funded_at: fundedAt }) => ({
    ref: id,
    orgId: fromUuid('org', id),
    isSuspended: status === 'suspended',
    isFunded: fundedAt !== null,
  }));
}

/** All of a kind, page by page, as `ref` of their changes; of keys only those that gateways may still need to know. */
export async function listRefs(
  reader: Reader,
  kind: KeyFeedEntryKind,
  page: { readonly after: string | null; readonly limit: number },
): Promise<readonly string[]> {
  switch (kind) {
    case 'key': {
      const rows = await reader.kysely
        .selectFrom('api_keys')
        .select('public_id as ref')
        .where('kind', '=', 'key')
        .where((where) =>
          where.or([
            where('revoked_at', 'is', null),
            where('revoked_at', '>', sql<Date>`clock_timestamp() - interval '40 days'`),
          ]),
        )
        .where('public_id', '>', page.after ?? '')
        .orderBy('public_id')
        .limit(page.limit)
        .execute();
      return rows.map(({ ref }) => ref);
    }
    case 'organisation': {
      let query = reader.kysely
        .selectFrom('organisations')
        .select('id as ref')
        .orderBy('id')
        .limit(page.limit);
      if (page.after !== null) query = query.where('id', '>', page.after);
      return (await query.execute()).map(({ ref }) => ref);
    }
    case 'model': {
      const rows = await reader.kysely
        .selectFrom('inference_models')
        .select('name as ref')
        .where('name', '>', page.after ?? '')
        .orderBy('name')
        .limit(page.limit)
        .execute();
      return rows.map(({ ref }) => ref);
    }
  }
}
