import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { createCidrSet } from '../http/client-ip.ts';

/**
 * Says where a connection may go whose target somebody else named: a supplier its daemon, a tenant its webhook. Whoever
 * may choose where we connect would otherwise reach our own inside through us.
 */
export interface NetGuard {
  /** Why nothing of ours connects to this address; null if it may. What is no address is a problem too. */
  problemWith(address: string): string | null;
}

/** A connection that was refused before anything was sent. */
export class ForbiddenAddressError extends Error {
  readonly code = 'ERR_ADDRESS_FORBIDDEN';

  constructor(host: string, problem: string) {
    super(`${host} is not connected to: ${problem}`);
    this.name = 'ForbiddenAddressError';
  }
}

const notAllowed = 'what it stands for is not on the public internet';

/** All of the IPv6 internet that was ever given out. */
const globalIpv6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Of the public ranges, and yet inside: Azure answers its own machines there about themselves. */
const platformAddress = '168.63.129.16';

/**
 * Only addresses of the public internet are allowed, and what the operator names besides. Whatever has a meaning of its
 * own is not: loopback, private and shared ranges, link-local with the metadata services of clouds, multicast,
 * documentation, and IPv6 forms that carry an IPv4 address inside.
 */
export function createNetGuard(options: { readonly allowedNetworks: readonly string[] }): NetGuard {
  const allowed = createCidrSet(options.allowedNetworks);
  return {
    problemWith: (address) => {
      // A zone is of this machine's own cards, so an address with one is never of the internet.
      if (isIP(address) === 0 || address.includes('%')) return 'it is no address';
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
 * Looks a name up in the moment of connecting and lets only allowed addresses through, so that a name which changes its
 * mind between a check and the connection gains nothing. For `lookup` of sockets, agents and pools; these do not ask it
 * about addresses, so `assertAddressAllowed` comes first.
 */
export function guardedLookup(guard: NetGuard, resolve: Resolve = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, [], undefined);
      const allowed = found.filter(({ address }) => guard.problemWith(address) === null);
      const [first] = allowed;
      // Which address that is, is ours to know: whoever names our own hosts would learn their addresses.
      if (first === undefined)
        return callback(new ForbiddenAddressError(hostname, notAllowed), [], undefined);
      if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

/** Throws for an address that nothing of ours connects to. Names pass: they are judged by what they stand for then. */
export function assertAddressAllowed(guard: NetGuard, host: string): void {
  const address = withoutBrackets(host);
  if (isIP(address) === 0) return;
  const problem = guard.problemWith(address);
  if (problem !== null) throw new ForbiddenAddressError(host, problem);
}

/** As URLs write IPv6 addresses. */
function withoutBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}

/** A TCP connection to a host that somebody else named. */
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
