import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Timer } from '@millrace/platform/clock';
import type { NetGuard } from '@millrace/platform/net';

/** Resolves hosts for Caddy, which is inside the network: addresses of suppliers' hosts must pass the guard. */

export interface HostAddressesDeps {
  readonly clock: Timer;
  readonly guard: NetGuard;
  readonly resolve?: (name: string) => Promise<readonly string[]>;
}

export interface HostToResolve {
  readonly host: string;
  readonly isSupplied: boolean;
}

/** Maximum delay until a changed DNS record is used. */
const RESOLVED_TTL_MS = 60_000;
/** Limits how long a supplier's slow name server delays all other names. */
const RESOLVE_TIMEOUT_MS = 1_000;

interface ResolvedName {
  readonly addresses: readonly string[];
  readonly untilMs: number;
}

interface PendingLookup {
  /** Null until the lookup ends. */
  addresses: readonly string[] | 'failed' | null;
}

export class HostAddresses {
  readonly #deps: HostAddressesDeps;
  #names = new Map<string, ResolvedName>();
  /** Lookups in progress, or finished and not stored yet. */
  readonly #requested = new Map<string, PendingLookup>();

  constructor(deps: HostAddressesDeps) {
    this.#deps = deps;
  }

  /** Per host the address to connect to, or null if none is allowed. */
  async of(hosts: readonly HostToResolve[]): Promise<(string | null)[]> {
    const names = new Set(hosts.map(({ host }) => host).filter((host) => isIP(host) === 0));
    // Drops names that are no longer requested.
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
    // A lookup that already timed out is not waited for again.
    const pending = this.#requested.get(name) ?? (await this.#request(name));
    if (pending.addresses === null) return { addresses: known?.addresses ?? [], untilMs: nowMs };
    this.#requested.delete(name);
    // A failing name server keeps the last known addresses.
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
