import { isScope, scopeNames, type ApiKeyLimits, type PlatformRole, type Role } from '@millrace/contract';
import type { Reader, Tables, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type KeyId, type OrgId, type UserId } from '@millrace/platform/ids';
import { isItemAvailable } from '@millrace/platform/loops';
import { sql, type Selectable } from 'kysely';
import type { KeyMode, MintedKey } from './api-key.ts';
import { platformRolesIn, type KeyRights } from './key-rights.ts';
import type { ApiKey, Caller, PageRequest, RevocationReason } from './identity.ts';
import { keyExpiryLoop } from './loops.ts';

/** All SQL about API keys. Only hashes of secrets reach this file. */

export const unlimitedKeyLimits: ApiKeyLimits = {
  maxUsdPerHour: null,
  maxLiveRentals: null,
  maxRentalSeconds: null,
  budget: null,
  rpm: null,
  tpm: null,
  models: null,
  regions: null,
  gpuTypes: null,
};

function toKey(row: Omit<Selectable<Tables['api_keys']>, 'secret_sha256'>): ApiKey {
  return {
    id: fromUuid('key', row.id),
    kind: row.kind,
    publicId: row.public_id,
    orgId: fromUuid('org', row.org_id),
    userId: fromUuid('usr', row.user_id),
    mode: row.mode,
    name: row.name,
    // A member key has all scopes; the member's role limits them.
    scopes: row.kind === 'seat' ? scopeNames : row.scopes.filter(isScope),
    limits: toLimits(row.limits),
    allowedIps: row.allowed_ips,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    revokedReason: row.revoked_reason,
    rotatedFrom: row.rotated_from === null ? null : fromUuid('key', row.rotated_from),
    lastUsedAt: row.last_used_at,
    createdAt: row.created_at,
  };
}

/** Limits that were added to the contract after the row was written are absent and mean no limit. */
function toLimits(json: Selectable<Tables['api_keys']>['limits']): ApiKeyLimits {
  return { ...unlimitedKeyLimits, ...(json as Partial<ApiKeyLimits>) };
}

const keyColumns = [
  'api_keys.id',
  'api_keys.kind',
  'api_keys.public_id',
  'api_keys.org_id',
  'api_keys.user_id',
  'api_keys.mode',
  'api_keys.name',
  'api_keys.scopes',
  'api_keys.limits',
  'api_keys.allowed_ips',
  'api_keys.expires_at',
  'api_keys.revoked_at',
  'api_keys.revoked_reason',
  'api_keys.rotated_from',
  'api_keys.last_used_at',
  'api_keys.next_action_at',
  'api_keys.created_at',
] as const;

/** The platform roles of a key's user as one column, so that they are read with the key. */
const platformRolesOfUser = sql<PlatformRole[]>`array(
  select platform_roles.role from platform_roles
  where platform_roles.user_id = api_keys.user_id
  order by platform_roles.role
)`.as('platform_roles');

function rolesOf(row: {
  platform_roles: PlatformRole[];
  role: Role | null;
  supplier_since: Date | null;
}): readonly PlatformRole[] {
  const { role } = row;
  return platformRolesIn(row.platform_roles, { role, supplies: row.supplier_since !== null });
}

/** Everything that authentication needs about a key, in one row. */
export interface KeyCredentials {
  readonly key: ApiKey;
  readonly secretSha256: Buffer;
  /** Null if the user is no longer a member of the organisation. */
  readonly role: Role | null;
  readonly platformRoles: readonly PlatformRole[];
  readonly orgStatus: 'active' | 'suspended';
  /** Whether its first deposits have raised the organisation's rate limit. */
  readonly orgFunded: boolean;
}

/**
 * Looks up a key before its organisation is known: the only read of tenant data without an organisation id. The caller must
 * compare the secret's hash before it uses the result.
 */
export async function findCredentials(reader: Reader, publicId: string): Promise<KeyCredentials | null> {
  const row = await reader.kysely
    .selectFrom('api_keys')
    .innerJoin('organisations', 'organisations.id', 'api_keys.org_id')
    .leftJoin('members', (join) =>
      join.onRef('members.org_id', '=', 'api_keys.org_id').onRef('members.user_id', '=', 'api_keys.user_id'),
    )
    .select(keyColumns)
    .select([
      'api_keys.secret_sha256',
      'members.role',
      'organisations.status as org_status',
      'organisations.funded_at as org_funded_at',
      'organisations.supplier_since',
    ])
    .select(platformRolesOfUser)
    .where('api_keys.public_id', '=', publicId)
    .where('api_keys.kind', '=', 'key')
    .executeTakeFirst();
  if (row === undefined) return null;
  return {
    key: toKey(row),
    secretSha256: row.secret_sha256,
    role: row.role,
    platformRoles: rolesOf(row),
    orgStatus: row.org_status,
    orgFunded: row.org_funded_at !== null,
  };
}

/** The calling key and its user, locked until the transaction ends: rights are decided on this and not on cached values. */
export async function lockCaller(tx: Tx, orgId: OrgId, keyId: KeyId): Promise<Caller | null> {
  const row = await tx.kysely
    .selectFrom('api_keys')
    .innerJoin('members', (join) =>
      join.onRef('members.org_id', '=', 'api_keys.org_id').onRef('members.user_id', '=', 'api_keys.user_id'),
    )
    .innerJoin('organisations', 'organisations.id', 'api_keys.org_id')
    .select(keyColumns)
    .select(['members.role', 'organisations.supplier_since', platformRolesOfUser])
    .where('api_keys.org_id', '=', toUuid(orgId))
    .where('api_keys.id', '=', toUuid(keyId))
    .forShare(['api_keys', 'members'])
    .executeTakeFirst();
  return row === undefined ? null : { key: toKey(row), role: row.role, platformRoles: rolesOf(row) };
}

/** An API key or member key. */
export async function findKey(reader: Reader, orgId: OrgId, id: KeyId): Promise<ApiKey | null> {
  const row = await reader.kysely
    .selectFrom('api_keys')
    .select(keyColumns)
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .executeTakeFirst();
  return row === undefined ? null : toKey(row);
}

/** An API key to change; member keys cannot be changed. */
export async function lockKey(tx: Tx, orgId: OrgId, id: KeyId): Promise<ApiKey | null> {
  const row = await tx.kysely
    .selectFrom('api_keys')
    .select(keyColumns)
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .where('kind', '=', 'key')
    .forUpdate()
    .executeTakeFirst();
  return row === undefined ? null : toKey(row);
}

/** Newest first. `mode` null means both. */
export async function listKeys(
  reader: Reader,
  orgId: OrgId,
  page: PageRequest<KeyId> & { readonly mode: KeyMode | null },
): Promise<readonly ApiKey[]> {
  let query = reader.kysely
    .selectFrom('api_keys')
    .select(keyColumns)
    .where('org_id', '=', toUuid(orgId))
    .where('kind', '=', 'key');
  if (page.mode !== null) query = query.where('mode', '=', page.mode);
  if (page.after !== null) query = query.where('id', '<', toUuid(page.after));
  const newest = query.orderBy('id', 'desc').limit(page.limit + 1);
  const rows = await newest.execute();
  return rows.map(toKey);
}

export async function countUnrevokedKeys(reader: Reader, orgId: OrgId): Promise<number> {
  const row = await reader.kysely
    .selectFrom('api_keys')
    .select((of) => of.fn.countAll<bigint>().as('count'))
    .where('org_id', '=', toUuid(orgId))
    .where('kind', '=', 'key')
    .where('revoked_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

export async function insertKey(
  tx: Tx,
  orgId: OrgId,
  fields: {
    readonly userId: UserId;
    readonly name: string;
    readonly rights: KeyRights;
    readonly minted: MintedKey;
    readonly rotatedFrom: KeyId | null;
  },
): Promise<{ readonly key: ApiKey; readonly unrevokedBefore: number }> {
  const { rights, minted } = fields;
  const row = await tx.kysely
    .insertInto('api_keys')
    .values({
      id: toUuid(tx.ids.next('key')),
      public_id: minted.publicId,
      secret_sha256: minted.secretSha256,
      org_id: toUuid(orgId),
      user_id: toUuid(fields.userId),
      mode: rights.mode,
      name: fields.name,
      scopes: [...rights.scopes],
      limits: JSON.stringify(rights.limits),
      allowed_ips: [...rights.allowedIps],
      expires_at: rights.expiresAt,
      next_action_at: rights.expiresAt,
      rotated_from: fields.rotatedFrom === null ? null : toUuid(fields.rotatedFrom),
      created_at: tx.clock.now(),
    })
    .returning(keyColumns)
    // A statement does not see its own rows, so this count excludes the new key.
    .returning((of) =>
      of
        .selectFrom('api_keys as others')
        .select((count) => count.fn.countAll<bigint>().as('count'))
        .where('others.org_id', '=', toUuid(orgId))
        .where('others.kind', '=', 'key')
        .where('others.revoked_at', 'is', null)
        .as('unrevoked_before'),
    )
    .executeTakeFirstOrThrow();
  return { key: toKey(row), unrevokedBefore: Number(row.unrevoked_before) };
}

export async function hasSuccessor(tx: Tx, orgId: OrgId, id: KeyId): Promise<boolean> {
  const row = await tx.kysely
    .selectFrom('api_keys')
    .select('id')
    .where('org_id', '=', toUuid(orgId))
    .where('rotated_from', '=', toUuid(id))
    .executeTakeFirst();
  return row !== undefined;
}

export async function setExpiry(tx: Tx, orgId: OrgId, id: KeyId, expiresAt: Date): Promise<void> {
  await tx.kysely
    .updateTable('api_keys')
    .set({ expires_at: expiresAt, next_action_at: expiresAt })
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .where('revoked_at', 'is', null)
    .execute();
}

/** Null if the key was already revoked: the first reason stays. */
export async function markRevoked(
  tx: Tx,
  orgId: OrgId,
  id: KeyId,
  how: { readonly at: Date; readonly reason: RevocationReason },
): Promise<ApiKey | null> {
  const row = await tx.kysely
    .updateTable('api_keys')
    .set({ revoked_at: how.at, revoked_reason: how.reason, next_action_at: null })
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .where('revoked_at', 'is', null)
    .returning(keyColumns)
    .executeTakeFirst();
  return row === undefined ? null : toKey(row);
}

/** Revokes all keys of a user in an organisation, including member keys. Returns the API keys. */
export async function markRevokedOfUser(
  tx: Tx,
  orgId: OrgId,
  userId: UserId,
  how: { readonly at: Date; readonly reason: RevocationReason },
): Promise<readonly ApiKey[]> {
  const rows = await tx.kysely
    .updateTable('api_keys')
    .set({ revoked_at: how.at, revoked_reason: how.reason, next_action_at: null })
    .where('org_id', '=', toUuid(orgId))
    .where('user_id', '=', toUuid(userId))
    .where('revoked_at', 'is', null)
    .returning(keyColumns)
    .execute();
  return rows.map(toKey).filter(({ kind }) => kind === 'key');
}

/** Expired keys of all organisations whose expiry is not recorded yet. */
export async function listDueKeys(
  reader: Reader,
  due: { readonly at: Date; readonly limit: number },
): Promise<readonly { readonly orgId: OrgId; readonly keyId: KeyId }[]> {
  const rows = await reader.kysely
    .selectFrom('api_keys')
    .select(['org_id', 'id'])
    .where('next_action_at', '<=', due.at)
    .where(isItemAvailable(keyExpiryLoop, sql<string>`api_keys.id::text`, due.at))
    .orderBy('next_action_at')
    .limit(due.limit)
    .execute();
  return rows.map((row) => ({ orgId: fromUuid('org', row.org_id), keyId: fromUuid('key', row.id) }));
}

/** Skips locked rows instead of waiting: the time is only accurate to a minute, and the next flush writes it. */
export async function updateKeysLastUsed(tx: Tx, uses: ReadonlyMap<KeyId, Date>): Promise<void> {
  const ids = [...uses.keys()].map((id) => toUuid(id));
  const times = [...uses.values()];
  await sql`
    update api_keys set last_used_at = used.at
    from (
      select k.id, u.at
      from unnest(${ids}::uuid[], ${times}::timestamptz[]) as u (id, at)
      join api_keys k on k.id = u.id
      where k.last_used_at is null or k.last_used_at < u.at
      order by k.id
      for no key update of k skip locked
    ) as used
    where api_keys.id = used.id
  `.execute(tx.kysely);
}
