import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { createCidrSet } from '../http/client-ip.ts';

/** Decides where a connection may go whose target someone else chose, to protect internal hosts. */
export interface NetGuard {
  /** Why connections to this address are refused; null if it is allowed. Text that is not an address is refused too. */
  problemWith(address: string): string | null;
}

export class ForbiddenAddressError extends Error {
  readonly code = 'ERR_ADDRESS_FORBIDDEN';

  constructor(host: string, problem: string) {
    super(`Connection to ${host} refused: ${problem}`);
    this.name = 'ForbiddenAddressError';
  }
}

const notAllowed = 'its address is not on the public internet';

/** The allocated IPv6 internet. */
const globalIpv6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** A public address with internal meaning: Azure's platform service for its virtual machines. */
const platformAddress = '168.63.129.16';

/**
 * Allows addresses of the public internet and of `allowedNetworks`. Refuses all special ranges: loopback, private and
 * shared ranges, link-local with cloud metadata services, multicast, documentation, and IPv6 forms that contain an IPv4
 * address.
 */
export function createNetGuard(options: { readonly allowedNetworks: readonly string[] }): NetGuard {
  const allowed = createCidrSet(options.allowedNetworks);
  return {
    problemWith: (address) => {
      // A zone refers to an interface of this machine, so such an address is never public.
      if (isIP(address) === 0 || address.includes('%')) return 'it is not an IP address';
      if (allowed.includes(address)) return null;
      const parsed = ipaddr.process(address);
      const range = parsed.range();
      const isPublic = range === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(globalIpv6));
      const isOutside = isPublic && parsed.toString() !== platformAddress;
      return isOutside ? null : `${parsed.toString()} is not on the public internet (${range})`;
    },
  };
}

type Resolve = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Resolves a name at the moment of connecting and returns only allowed addresses, so that a name cannot change between
 * check and connection. For the `lookup` option of sockets, agents and pools, which do not call it for addresses: call
 * `assertAddressAllowed` first.
 */
export function guardedLookup(guard: NetGuard, resolve: Resolve = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, [], undefined);
      const allowed = found.filter(({ address }) => guard.problemWith(address) === null);
      const [first] = allowed;
      // Omits the address, because the caller could otherwise learn the addresses of our hosts.
      if (first === undefined)
        return callback(new ForbiddenAddressError(hostname, notAllowed), [], undefined);
      if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

/** Throws for a forbidden address. Names pass, because `guardedLookup` checks their addresses. */
export function assertAddressAllowed(guard: NetGuard, host: string): void {
  const address = withoutBrackets(host);
  if (isIP(address) === 0) return;
  const problem = guard.problemWith(address);
  if (problem !== null) throw new ForbiddenAddressError(host, problem);
}

/** Removes the brackets of IPv6 addresses in URLs. */
function withoutBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}

/** Opens a TCP connection to a host that someone else chose. */
export function guardedConnect(
  guard: NetGuard,
  target: { readonly host: string; readonly port: number },
  signal: AbortSignal,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    assertAddressAllowed(guard, target.host);
    signal.throwIfAborted();
    const socket = connect({
      host: withoutBrackets(target.host),
      port: target.port,
      lookup: guardedLookup(guard),
    });
    const giveUp = (): void => {
      socket.destroy(signal.reason instanceof Error ? signal.reason : new Error('given up'));
    };
    signal.addEventListener('abort', giveUp, { once: true });
    socket.once('error', (error) => {
      signal.removeEventListener('abort', giveUp);
      reject(error);
    });
    socket.once('connect', () => {
      signal.removeEventListener('abort', giveUp);
      resolve(socket);
    });
  });
}
