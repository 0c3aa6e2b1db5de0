import { createHash } from 'node:crypto';
import { scopeNames } from '@millrace/contract';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { SessionUser, Principal, Sessions } from '@millrace/platform/http';
import { parseId, type KeyId, type OrgId, type UserId } from '@millrace/platform/ids';
import { counter } from '@millrace/platform/telemetry';
import { effectiveScopes } from '../model/key-rights.ts';
import type { KeyMode } from '../model/api-key.ts';
import { KEY_MAX_AGE_MS } from '../keys/key-authenticator.ts';
import { KeyCache } from '../keys/key-cache.ts';
import type { KeyChange } from '../keys/key-changes.ts';
import { lockOrganisation } from '../model/organisations.store.ts';
import { findSession, findSessionCredentials, ensureMemberKey } from './sessions.store.ts';
import type { LiveSession, SessionCredentials } from './sessions.store.ts';

export interface SessionAuthenticatorOptions {
  readonly db: Db;
  readonly clock: Timer;
  /** The origin of the console and how to read its cookie. */
  readonly signIn: Pick<Sessions, 'origin' | 'tokenIn'>;
  /** Requests per minute of an organisation before its first deposits, and after them. */
  readonly organisationRpm: number;
  readonly fundedRpm: number;
}

export interface SessionAuthenticator {
  readonly sessions: Sessions;
  readonly invalidate: (change: KeyChange) => void;
  /** Invalidates the cached sessions of a user in this process. */
  readonly invalidatePerson: (userId: string) => void;
}

interface CachedMembership extends SessionCredentials {
  readonly orgId: OrgId;
  readonly principal: Principal | null;
}

const refusals = counter('millrace_session_refusals_total');
const MAX_ENTRIES = 20_000;
const MAX_ABSENT = 2_000;

/**
 * Authenticates signed-in users. As with keys, cached values are used for less than 750 ms: an ended session, a removed member, a
 * role change and a suspension are seen everywhere within a second.
 */
export function createSessionAuthenticator(options: SessionAuthenticatorOptions): SessionAuthenticator {
  const { db, clock } = options;
  const shared = { clock, maxAgeMs: KEY_MAX_AGE_MS, maxEntries: MAX_ENTRIES, maxAbsent: MAX_ABSENT };
  const people = new KeyCache<LiveSession>({ ...shared, load: (hash) => findSession(db, hash) });
  const members = new KeyCache<CachedMembership>({
    ...shared,
    load: async (name) => {
      const { hash, orgId, mode } = parseCacheKey(name);
      const credentials = await findSessionCredentials(db, orgId, { tokenSha256: hash, mode });
      return credentials === null ? null : withPrincipal(options, credentials, orgId, mode);
    },
  });

  const requireLive = <Known extends LiveSession>(known: Known | null): Known => {
    if (known === null || known.expiresAt.getTime() <= db.clock.nowMs()) throw refuse('SESSION_ENDED');
    return known;
  };

  async function person(token: string): Promise<SessionUser> {
    return requireLive(await lookUp(people, hashToken(token))).person;
  }

  return {
    sessions: {
      ...options.signIn,
      person,
      async member(token, named) {
        const orgId = named.organisation === undefined ? null : parseId('org', named.organisation);
        const mode = readMode(named.mode);
        if (orgId === null || mode === null) {
          await person(token);
          throw refuse('ORGANISATION_REQUIRED');
        }
        const known = requireLive(await lookUp(members, cacheKeyOf(hashToken(token), orgId, mode)));
        // Only members may learn that an organisation is suspended.
        if (known.membership?.orgStatus === 'suspended') throw refuse('ORGANISATION_SUSPENDED');
        if (known.principal === null) throw refuse('NOT_A_MEMBER');
        return { principal: known.principal, person: known.person };
      },
    },

    invalidate: (change) => {
      if (change.kind === 'organisation') members.invalidateWhere(({ orgId }) => orgId === change.orgId);
    },

    invalidatePerson: (userId) => {
      people.invalidateWhere((known) => known.person.userId === userId);
      members.invalidateWhere((known) => known.person.userId === userId);
    },
  };
}

type RejectionReason = 'SESSION_ENDED' | 'ORGANISATION_REQUIRED' | 'NOT_A_MEMBER' | 'ORGANISATION_SUSPENDED';

function refuse(reason: RejectionReason): Fault {
  refusals.add(1, { reason });
  return new Fault(reason);
}

/** A failed look-up must not reject the session: the caller can retry. */
async function lookUp<Value>(cache: KeyCache<Value>, name: string): Promise<Value | null> {
  try {
    return await cache.get(name);
  } catch (error) {
    const internal = 'looking up a session failed';
    throw new Fault('SERVICE_UNAVAILABLE', { cause: error, internal, retryAfterSeconds: 1 });
  }
}

/** A token is random and long, so a plain hash is enough to store it. */
function hashToken(token: string): string {
  return createHash('sha256').update(token, 'utf8').digest('hex');
}

function cacheKeyOf(hash: string, orgId: OrgId, mode: KeyMode): string {
  return `${hash} ${orgId} ${mode}`;
}

function parseCacheKey(name: string): { hash: string; orgId: OrgId; mode: KeyMode } {
  const [hash = '', org = '', mode = ''] = name.split(' ');
  const orgId = parseId('org', org);
  if (orgId === null) throw new TypeError('A session was looked up with an invalid organisation id.');
  return { hash, orgId, mode: mode === 'test' ? 'test' : 'live' };
}

function readMode(header: string | undefined): KeyMode | null {
  if (header === undefined || header === 'live') return 'live';
  return header === 'test' ? 'test' : null;
}

async function withPrincipal(
  options: SessionAuthenticatorOptions,
  credentials: SessionCredentials,
  orgId: OrgId,
  mode: KeyMode,
): Promise<CachedMembership> {
  const { membership, person } = credentials;
  const known = { ...credentials, orgId, principal: null };
  if (membership === null || membership.orgStatus === 'suspended') return known;
  const keyId = membership.memberKeyId ?? (await createMemberKey(options.db, orgId, person.userId, mode));
  // The user was removed in between.
  if (keyId === null) return { ...known, membership: null };
  const { role, platformRoles, orgStatus, orgFunded } = membership;
  const principal: Principal = {
    kind: 'session',
    keyId,
    orgId,
    userId: person.userId,
    mode,
    scopes: effectiveScopes({ scopes: scopeNames, mode }, role, platformRoles),
    platformRoles: new Set(platformRoles),
    limits: { organisationRpm: orgFunded ? options.fundedRpm : options.organisationRpm, keyRpm: null },
    orgStatus,
    orgFunded,
  };
  return { ...known, principal };
}

function createMemberKey(db: Db, orgId: OrgId, userId: UserId, mode: KeyMode): Promise<KeyId | null> {
  return db.transaction({ name: 'take seat', isolation: 'read committed' }, async (tx) => {
    // This lock serializes changes of members and concurrent requests of one member.
    if ((await lockOrganisation(tx, orgId)) === null) return null;
    return ensureMemberKey(tx, orgId, { userId, mode });
  });
}
