import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { Authenticate, Principal } from '@millrace/platform/http';
import type { KeyId } from '@millrace/platform/ids';
import { counter } from '@millrace/platform/telemetry';
import { effectiveScopes } from '../model/key-rights.ts';
import { parseKey, secretMatches } from '../model/api-key.ts';
import { findCredentials, type KeyCredentials } from '../model/api-keys.store.ts';
import { KeyCache } from './key-cache.ts';
import type { KeyChange } from './key-changes.ts';
import { isInNetworks, parseNetwork, type Network } from '../model/networks.ts';

/** How long a process may use a cached key. With the time of one request, a revoked key is rejected everywhere within a second. */
export const KEY_MAX_AGE_MS = 750;

export interface KeyAuthenticatorOptions {
  readonly db: Db;
  readonly clock: Timer;
  /** Requests per minute of an organisation before its first deposits. */
  readonly organisationRpm: number;
  /** Requests per minute after its first deposits; default: the same. */
  readonly fundedRpm?: number;
  /** Called for every admitted request, so it must not do I/O. */
  readonly onUse?: (keyId: KeyId) => void;
  readonly maxAgeMs?: number;
  readonly maxEntries?: number;
}

export interface KeyAuthenticator {
  readonly authenticate: Authenticate;
  readonly invalidate: (change: KeyChange) => void;
}

interface CachedKey {
  readonly credentials: KeyCredentials;
  readonly networks: readonly Network[];
  readonly principal: Principal;
}

const lookups = counter('millrace_key_lookups_total');
const refusals = counter('millrace_key_refusals_total');

export function createKeyAuthenticator(options: KeyAuthenticatorOptions): KeyAuthenticator {
  const cache = new KeyCache<CachedKey>({
    clock: options.clock,
    maxAgeMs: options.maxAgeMs ?? KEY_MAX_AGE_MS,
    maxEntries: options.maxEntries ?? 20_000,
    maxAbsent: 2_000,
    load: async (publicId) => {
      const credentials = await findCredentials(options.db, publicId);
      lookups.add(1, { result: credentials === null ? 'absent' : 'found' });
      if (credentials === null) return null;
      const { organisationRpm, fundedRpm = organisationRpm } = options;
      return toCachedKey(credentials, credentials.orgFunded ? fundedRpm : organisationRpm);
    },
  });

  async function lookUp(publicId: string): Promise<CachedKey | null> {
    try {
      return await cache.get(publicId);
    } catch (error) {
      // A failed look-up must not reject the key: the caller can retry.
      throw new Fault('SERVICE_UNAVAILABLE', {
        cause: error,
        internal: 'looking up an API key failed',
        retryAfterSeconds: 1,
      });
    }
  }

  return {
    async authenticate({ key, clientIp }) {
      const parsed = parseKey(key);
      if (parsed === null) throw refuse('MALFORMED_API_KEY');
      const known = await lookUp(parsed.publicId);
      // Until the secret matches, the response must not reveal that a key with this public id exists.
      const genuine =
        known !== null &&
        secretMatches(parsed.secret, known.credentials.secretSha256) &&
        known.principal.mode === parsed.mode;
      if (!genuine) throw refuse('INVALID_API_KEY');
      const fault = rejectionReasonOf(known, clientIp, options.db.clock.nowMs());
      if (fault !== null) throw refuse(fault);
      options.onUse?.(known.principal.keyId);
      return known.principal;
    },

    invalidate: (change) => {
      if (change.kind === 'keys') change.publicIds.forEach((publicId) => cache.invalidate(publicId));
      else cache.invalidateWhere((known) => known.principal.orgId === change.orgId);
    },
  };
}

type RejectionReason =
  | 'MALFORMED_API_KEY'
  | 'INVALID_API_KEY'
  | 'API_KEY_REVOKED'
  | 'API_KEY_EXPIRED'
  | 'ORGANISATION_SUSPENDED'
  | 'IP_NOT_ALLOWED';

function refuse(reason: RejectionReason): Fault {
  refusals.add(1, { reason });
  return new Fault(reason);
}

/** Why a key with the right secret is rejected, or null. */
function rejectionReasonOf(known: CachedKey, clientIp: string, nowMs: number): RejectionReason | null {
  const { key, role, orgStatus } = known.credentials;
  const expired =
    key.revokedReason === 'expired' || (key.expiresAt !== null && key.expiresAt.getTime() <= nowMs);
  if (key.revokedAt !== null && key.revokedReason !== 'expired') return 'API_KEY_REVOKED';
  if (expired) return 'API_KEY_EXPIRED';
  if (role === null) return 'API_KEY_REVOKED';
  if (orgStatus === 'suspended') return 'ORGANISATION_SUSPENDED';
  if (known.networks.length > 0 && !isInNetworks(clientIp, known.networks)) return 'IP_NOT_ALLOWED';
  return null;
}

function toCachedKey(credentials: KeyCredentials, organisationRpm: number): CachedKey {
  const { key, role, platformRoles, orgStatus, orgFunded } = credentials;
  const networks = key.allowedIps.map((text) => {
    const parsed = parseNetwork(text);
    // Skipping an unreadable network would open the key to everyone, so the key is rejected.
    if (!parsed.ok) throw new Error(`API key ${key.id} has an invalid network: ${parsed.why}`);
    return parsed.network;
  });
  const principal: Principal = {
    kind: 'key',
    keyId: key.id,
    orgId: key.orgId,
    userId: key.userId,
    mode: key.mode,
    scopes: role === null ? new Set() : effectiveScopes(key, role, platformRoles),
    platformRoles: new Set(platformRoles),
    limits: { organisationRpm, keyRpm: key.limits.rpm },
    orgStatus,
    orgFunded,
  };
  return { credentials, networks, principal };
}
