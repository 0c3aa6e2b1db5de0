import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Timer } from '@millrace/platform/clock';
import type { NetGuard } from '@millrace/platform/net';

/**
 * Where Caddy may connect to for a host. Suppliers say where their machines are, and Caddy stands inside: it is only ever
 * told addresses, and of suppliers only such as the guard allows.
 */

export interface HostAddressesDeps {
  readonly clock: Timer;
  readonly guard: NetGuard;
  /** The addresses of a name, in the order in which they are to be tried. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
}

export interface HostToResolve {
  readonly host: string;
  readonly isSupplied: boolean;
}

/** A name that moved is followed this late. */
const RESOLVED_TTL_MS = 60_000;
/** Name servers of suppliers may answer as late as they like: all other names wait no longer than this for them. */
const RESOLVE_TIMEOUT_MS = 1_000;

interface ResolvedName {
  readonly addresses: readonly string[];
  readonly untilMs: number;
}

interface PendingLookup {
  /** Null until there is an answer. */
  addresses: readonly string[] | 'failed' | null;
}

export class HostAddresses {
  readonly #deps: HostAddressesDeps;
  #names = new Map<string, ResolvedName>();
  /** What was asked and not taken over yet. */
  readonly #requested = new Map<string, PendingLookup>();

  constructor(deps: HostAddressesDeps) {
    this.#deps = deps;
  }

  /** For each host the address to connect to, or null where there is none to which that is allowed. */
  async of(hosts: readonly HostToResolve[]): Promise<(string | null)[]> {
    const names = new Set(hosts.map(({ host }) => host).filter((host) => isIP(host) === 0));
    // What nobody asks for any more is forgotten.
    this.#names = new Map(
      await Promise.all([...names].map(async (name) => [name, await this.#lookedUp(name)] as const)),
    );
    return hosts.map(({ host, isSupplied }) => {
      const addresses = isIP(host) === 0 ? (this.#names.get(host)?.addresses ?? []) : [host];
      const { guard } = this.#deps;
      return addresses.find((each) => !isSupplied || guard.problemWith(each) === null) ?? null;
    });
  }

  async #lookedUp(name: string): Promise<ResolvedName> {
    const { clock } = this.#deps;
    const known = this.#names.get(name);
    const nowMs = clock.monotonicMs();
    if (known !== undefined && nowMs < known.untilMs) return known;
    // One that was asked before and has not answered since is not waited for a second time.
    const pending = this.#requested.get(name) ?? (await this.#request(name));
    if (pending.addresses === null) return { addresses: known?.addresses ?? [], untilMs: nowMs };
    this.#requested.delete(name);
    // A name server that is away for a moment takes nobody's name away.
    const addresses = pending.addresses === 'failed' ? (known?.addresses ?? []) : pending.addresses;
    return { addresses, untilMs: nowMs + RESOLVED_TTL_MS };
  }

  #request(name: string): Promise<PendingLookup> {
    const { clock, resolve = systemResolve } = this.#deps;
    const pending: PendingLookup = { addresses: null };
    this.#requested.set(name, pending);
    return new Promise((goOn) => {
      const cancel = clock.after(RESOLVE_TIMEOUT_MS, () => goOn(pending));
      const settle = (addresses: PendingLookup['addresses']): void => {
        pending.addresses = addresses;
        cancel();
        goOn(pending);
      };
      resolve(name).then(settle, () => settle('failed'));
    });
  }
}

async function systemResolve(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}
