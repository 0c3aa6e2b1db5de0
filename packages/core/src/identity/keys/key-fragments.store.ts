import type { ApiKeyLimits, PlatformRole, Role } from '@millrace/contract';
import type { Reader } from '@millrace/platform/db';
import { toUuid, type KeyId, type OrgId } from '@millrace/platform/ids';
import { sql, type RawBuilder } from 'kysely';

/** SQL about API keys that other features compose with their own tables, and reads over all organisations. */

/** The ids of a key, of every key that it replaced and of every key that replaced it. Column: id. */
export function rotationChain(orgId: OrgId, keyId: KeyId): RawBuilder<unknown> {
  return sql`
    with recursive older as (
      select id, rotated_from from api_keys where org_id = ${toUuid(orgId)} and id = ${toUuid(keyId)}
      union select before.id, before.rotated_from from older join api_keys as before on before.id = older.rotated_from
    ), newer as (
      select id from api_keys where org_id = ${toUuid(orgId)} and id = ${toUuid(keyId)}
      union select after.id from newer join api_keys as after on after.rotated_from = newer.id
    )
    select id from older union select id from newer`;
}

/** `keyIds` is an array of ids. */
export function hasActiveKey(orgId: OrgId, keyIds: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`exists (select from api_keys
     where api_keys.org_id = ${toUuid(orgId)} and api_keys.revoked_at is null and api_keys.id = any (${keyIds}))`;
}

export interface KeyRecordRow {
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
}

/** The keys with these public ids, without member keys, with the roles of their users. Columns: those of `KeyRecordRow`. */
export function keyRecords(publicIds: readonly string[]): RawBuilder<KeyRecordRow> {
  return sql<KeyRecordRow>`(
    select key.id, key.public_id, key.org_id, key.mode, key.secret_sha256, key.scopes, key.limits,
           key.allowed_ips::text[] as allowed_ips, key.expires_at, key.revoked_at, key.revoked_reason, member.role,
           array(select held.role from platform_roles held where held.user_id = key.user_id order by held.role)
             as platform_roles
      from api_keys key
      left join members member on member.org_id = key.org_id and member.user_id = key.user_id
     where key.public_id = any (${[...publicIds]}::text[]) and key.kind = 'key')`;
}

/** Public ids in order, without member keys and without keys that were revoked more than 40 days ago. */
export async function listRecentPublicIds(
  reader: Reader,
  page: { readonly after: string | null; readonly limit: number },
): Promise<readonly string[]> {
  const rows = await reader.kysely
    .selectFrom('api_keys')
    .select('public_id')
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
  return rows.map((row) => row.public_id);
}
