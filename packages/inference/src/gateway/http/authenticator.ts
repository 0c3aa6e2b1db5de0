import { parseKey, secretMatches } from '@millrace/core/identity';
import type { KeyEntry, OrganisationEntry } from '@millrace/core/inference';
import type { Clock } from '@millrace/platform/clock';
import { Fault } from '@millrace/platform/fault';
import { readBearer } from '@millrace/platform/http/bearer';
import { addressBlock, createCidrSet, type CidrSet } from '@millrace/platform/http/client-ip';
import type { IncomingMessage } from 'node:http';
import type { KeyFeed } from '../../key-feed/index.ts';
import { clientAddress } from './request-counter.ts';
import type { FailedLookupLimiter } from './failed-lookup-limiter.ts';

/** Authenticates callers from the key feed alone, without the database. */

export interface Caller {
  /** To look the key up again in the key feed. */
  readonly publicId: string;
  readonly key: KeyEntry;
  readonly organisation: OrganisationEntry;
}

/** Parsed header, cached so that a secret is parsed and hashed once per key and not per request. */
interface ParsedAuthorization {
  readonly publicId: string;
  readonly secret: string;
  readonly mode: 'live' | 'test';
  /** The entry that the secret matched. A changed key is another entry and is compared again. */
  matched: KeyEntry | null;
}

const maxCached = 20_000;
const maxCachedLength = 128;

export interface AuthenticatorOptions {
  readonly keyFeed: Pick<KeyFeed, 'findKey' | 'knowsKey' | 'organisation' | 'isStale'>;
  readonly clock: Clock;
  readonly trusted: CidrSet;
  /** Limits look-ups of keys that this gateway has not cached. */
  readonly lookups: FailedLookupLimiter;
}

export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #known = new Map<string, ParsedAuthorization>();
  readonly #networks = new WeakMap<KeyEntry, CidrSet>();

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  /** Returns the caller or throws a `Fault`. Synchronous for cached keys, because a promise costs more than the check. */
  admit(request: IncomingMessage, scope: string): Caller | Promise<Caller> {
    const { keyFeed } = this.#options;
    if (keyFeed.isStale()) throw new Fault('KEY_FEED_STALE', { retryAfterSeconds: 5 });
    const presented = this.#parse(request.headers.authorization ?? '');
    if (!keyFeed.knowsKey(presented.publicId)) return this.#lookUp(presented, request, scope);
    const key = keyFeed.findKey(presented.publicId);
    if (key instanceof Promise) return this.#lookUp(presented, request, scope);
    const organisation = key === null ? null : keyFeed.organisation(key.orgId);
    if (organisation instanceof Promise) return this.#lookUp(presented, request, scope);
    return this.#authorize(presented, key, organisation, request, scope);
  }

  /** The fault of a caller that would be refused now, or null. A key that is not in memory is looked up for a later call. */
  recheck({ publicId, key: before }: Caller): Fault | null {
    const { keyFeed, clock } = this.#options;
    const key = ifInMemory(() => keyFeed.findKey(publicId));
    if (key === undefined) return null;
    // The bucket is complete and has no such key: it was deleted.
    if (key === null) return new Fault('API_KEY_REVOKED');
    const organisation = ifInMemory(() => keyFeed.organisation(before.orgId));
    if (organisation?.isSuspended === true) return new Fault('ORGANISATION_SUSPENDED');
    return faultOfKey(key, clock.nowMs());
  }

  #parse(header: string): ParsedAuthorization {
    const found = this.#known.get(header);
    if (found !== undefined) return found;
    const parsed = parseKey(readBearer(header));
    if (parsed === null) throw new Fault('MALFORMED_API_KEY');
    const made = { publicId: parsed.publicId, secret: parsed.secret, mode: parsed.mode, matched: null };
    // Keys may follow any number of blanks; overlong headers are not cached.
    if (header.length > maxCachedLength) return made;
    // Cleared as a whole: a flood of keys only makes every key be parsed again.
    if (this.#known.size >= maxCached) this.#known.clear();
    this.#known.set(header, made);
    return made;
  }

  #authorize(
    presented: ParsedAuthorization,
    key: KeyEntry | null,
    organisation: OrganisationEntry | null,
    request: IncomingMessage,
    scope: string,
  ): Caller {
    if (key === null || presented.mode !== key.mode) throw new Fault('INVALID_API_KEY');
    if (presented.matched !== key) {
      // Until the secret matches, the error must not reveal that a key with this public id exists.
      if (!secretMatches(presented.secret, Buffer.from(key.secretSha256, 'hex')))
        throw new Fault('INVALID_API_KEY');
      presented.matched = key;
    }
    const fault = faultOfKey(key, this.#options.clock.nowMs());
    if (fault !== null) throw fault;
    // Without its organisation a key cannot be checked.
    if (organisation === null) throw new Fault('SERVICE_UNAVAILABLE', { retryAfterSeconds: 1 });
    if (organisation.isSuspended) throw new Fault('ORGANISATION_SUSPENDED');
    if (key.allowedIps.length > 0 && !this.#isAddressAllowed(key, request)) throw new Fault('IP_NOT_ALLOWED');
    if (!key.scopes.includes(scope)) throw missingScopeFault(scope);
    return { publicId: presented.publicId, key, organisation };
  }

  #isAddressAllowed(key: KeyEntry, request: IncomingMessage): boolean {
    let rules = this.#networks.get(key);
    if (rules === undefined) this.#networks.set(key, (rules = createCidrSet(key.allowedIps)));
    return rules.includes(clientAddress(request, this.#options.trusted));
  }

  async #lookUp(presented: ParsedAuthorization, request: IncomingMessage, scope: string): Promise<Caller> {
    const { keyFeed, lookups, trusted } = this.#options;
    const { publicId } = presented;
    const find = async (): Promise<KeyEntry | null> => keyFeed.findKey(publicId);
    const key = keyFeed.knowsKey(publicId)
      ? await find()
      : await lookups.run(addressBlock(clientAddress(request, trusted)), find);
    const organisation = key === null ? null : await keyFeed.organisation(key.orgId);
    return this.#authorize(presented, key, organisation, request, scope);
  }
}

function faultOfKey(key: KeyEntry, nowMs: number): Fault | null {
  if (key.refusedFor !== null) return new Fault(key.refusedFor);
  return key.expiresAtMs !== null && key.expiresAtMs <= nowMs ? new Fault('API_KEY_EXPIRED') : null;
}

/** Undefined while the look-up runs or if it failed. */
function ifInMemory<Entry>(find: () => Entry | Promise<Entry>): Entry | undefined {
  try {
    const found = find();
    if (!(found instanceof Promise)) return found;
    found.catch(() => undefined);
  } catch {
    // An unreadable entry decides nothing about a running request.
  }
  return undefined;
}

function missingScopeFault(scope: string): Fault {
  return new Fault('INSUFFICIENT_SCOPE', {
    message: `This API key does not have the scope ${scope}, which this operation requires.`,
    extra: { requiredScope: scope },
  });
}
