import type { PlatformRole, Role } from '@millrace/contract';
import type { Reader, Tx } from '@millrace/platform/db';
import type { SessionUser } from '@millrace/platform/http';
import { fromUuid, toUuid } from '@millrace/platform/ids';
import type { KeyId, OrgId, SessionId, UserId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import { platformRolesIn } from '../model/key-rights.ts';
import { mintKey, type KeyMode } from '../model/api-key.ts';

/** All SQL about sessions and member keys. Only hashes of tokens reach this file. */

export interface SessionRecord {
  readonly id: SessionId;
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly expiresAt: Date;
}

/** A session that may have expired: the reader checks `expiresAt` by its own clock. */
export interface LiveSession {
  readonly person: SessionUser;
  readonly expiresAt: Date;
}

/** Everything that authentication needs about a session and the user's membership in an organisation. */
export interface SessionCredentials extends LiveSession {
  /** Null if the user is not a member or the organisation does not exist. */
  readonly membership: {
    readonly role: Role;
    readonly platformRoles: readonly PlatformRole[];
    readonly orgStatus: 'active' | 'suspended';
    readonly orgFunded: boolean;
    /** Null until the member's first request in this mode. */
    readonly memberKeyId: KeyId | null;
  } | null;
}

const personColumns = [
  'sessions.id as session_id',
  'sessions.expires_at',
  'users.id as user_id',
  'users.email',
  'users.name',
] as const;

function toPerson(row: { session_id: string; user_id: string; email: string; name: string }): SessionUser {
  return {
    userId: fromUuid('usr', row.user_id),
    sessionId: fromUuid('ses', row.session_id),
    email: row.email,
    name: row.name,
  };
}

/** Like keys, a session is looked up before its user is known. */
export async function findSession(reader: Reader, tokenSha256: string): Promise<LiveSession | null> {
  const row = await reader.kysely
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .select(personColumns)
    .where('sessions.token', '=', tokenSha256)
    .executeTakeFirst();
  return row === undefined ? null : { person: toPerson(row), expiresAt: row.expires_at };
}

export async function findSessionCredentials(
  reader: Reader,
  orgId: OrgId,
  query: { readonly tokenSha256: string; readonly mode: KeyMode },
): Promise<SessionCredentials | null> {
  const row = await reader.kysely
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .leftJoin('members', (join) =>
      join.onRef('members.user_id', '=', 'users.id').on('members.org_id', '=', toUuid(orgId)),
    )
    .leftJoin('organisations', 'organisations.id', 'members.org_id')
    .leftJoin('api_keys as seat', (join) =>
      join
        .onRef('seat.org_id', '=', 'members.org_id')
        .onRef('seat.user_id', '=', 'users.id')
        .on('seat.mode', '=', query.mode)
        .on('seat.kind', '=', 'seat')
        .on('seat.revoked_at', 'is', null),
    )
    .select(personColumns)
    .select([
      'members.role',
      'organisations.status',
      'organisations.funded_at',
      'organisations.supplier_since',
      'seat.id as seat_id',
      sql<PlatformRole[]>`array(
        select platform_roles.role from platform_roles
        where platform_roles.user_id = users.id order by platform_roles.role
      )`.as('platform_roles'),
    ])
    .where('sessions.token', '=', query.tokenSha256)
    .executeTakeFirst();
  if (row === undefined) return null;
  const { role, status } = row;
  const known = { person: toPerson(row), expiresAt: row.expires_at };
  if (role === null || status === null) return { ...known, membership: null };
  return {
    ...known,
    membership: {
      role,
      platformRoles: platformRolesIn(row.platform_roles, { role, supplies: row.supplier_since !== null }),
      orgStatus: status,
      orgFunded: row.funded_at !== null,
      memberKeyId: row.seat_id === null ? null : fromUuid('key', row.seat_id),
    },
  };
}

/**
 * Finds or creates the member key. Null if the user is not a member. The caller holds the lock on the organisation, which the
 * removal of a member also takes, so no member key remains after a removal.
 */
export async function ensureMemberKey(
  tx: Tx,
  orgId: OrgId,
  who: { readonly userId: UserId; readonly mode: KeyMode },
): Promise<KeyId | null> {
  const member = await tx.kysely
    .selectFrom('members')
    .select('id')
    .where('org_id', '=', toUuid(orgId))
    .where('user_id', '=', toUuid(who.userId))
    .executeTakeFirst();
  if (member === undefined) return null;
  const memberKey = tx.kysely
    .selectFrom('api_keys')
    .select('id')
    .where('org_id', '=', toUuid(orgId))
    .where('user_id', '=', toUuid(who.userId))
    .where('mode', '=', who.mode)
    .where('kind', '=', 'seat')
    .where('revoked_at', 'is', null);
  const taken = await memberKey.executeTakeFirst();
  if (taken !== undefined) return fromUuid('key', taken.id);
  // The row needs a public id and a secret hash like every key. The secret itself is discarded.
  const { publicId, secretSha256 } = mintKey(who.mode);
  await tx.kysely
    .insertInto('api_keys')
    .values({
      id: toUuid(tx.ids.next('key')),
      kind: 'seat',
      public_id: publicId,
      secret_sha256: secretSha256,
      org_id: toUuid(orgId),
      user_id: toUuid(who.userId),
      mode: who.mode,
      name: 'Signed in',
      scopes: [],
      limits: '{}',
      created_at: tx.clock.now(),
    })
    .execute();
  const made = await memberKey.executeTakeFirstOrThrow();
  return fromUuid('key', made.id);
}

/** Latest session first. */
export async function listSessions(reader: Reader, userId: UserId, at: Date): Promise<SessionRecord[]> {
  const rows = await reader.kysely
    .selectFrom('sessions')
    .select(['id', 'ip_address', 'user_agent', 'created_at', 'updated_at', 'expires_at'])
    .where('user_id', '=', toUuid(userId))
    .where('expires_at', '>', at)
    .orderBy('created_at', 'desc')
    .limit(SESSIONS_SHOWN_MAX)
    .execute();
  return rows.map((row) => ({
    id: fromUuid('ses', row.id),
    ip: row.ip_address === '' ? null : row.ip_address,
    userAgent: row.user_agent === '' ? null : row.user_agent,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    expiresAt: row.expires_at,
  }));
}

const SESSIONS_SHOWN_MAX = 200;

/** False if the user has no such session. */
export async function endSession(tx: Tx, userId: UserId, id: SessionId): Promise<boolean> {
  const ended = await tx.kysely
    .deleteFrom('sessions')
    .where('id', '=', toUuid(id))
    .where('user_id', '=', toUuid(userId))
    .returning('id')
    .executeTakeFirst();
  return ended !== undefined;
}
