import ipaddr from 'ipaddr.js';

/** A set of address blocks. IPv4-mapped IPv6 addresses count as IPv4. */
export interface CidrSet {
  includes(address: string): boolean;
}

/** Accepts CIDR blocks and single addresses. Throws on others, which the configuration has already rejected. */
export function createCidrSet(blocks: readonly string[]): CidrSet {
  const parsed = blocks.map((block) => {
    const full = block.includes('/') ? block : `${block}/${block.includes(':') ? 128 : 32}`;
    return ipaddr.parseCIDR(full);
  });
  return {
    includes: (address) => {
      const candidate = parseAddress(address);
      if (candidate === null) return false;
      return parsed.some(
        ([network, bits]) => network.kind() === candidate.kind() && candidate.match(network, bits),
      );
    },
  };
}

function parseAddress(address: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  return ipaddr.isValid(address) ? ipaddr.process(address) : null;
}

/** More hops than any real chain of proxies has. */
const maxHops = 32;

/**
 * Returns the client's address. Each trusted proxy appends the address it saw, so the rightmost address that is not a
 * trusted proxy is the client. Entries left of it come from the client and are not trusted.
 */
export function clientIp(options: {
  readonly socketAddress: string;
  readonly forwardedFor: string | undefined;
  readonly trusted: CidrSet;
}): string {
  const socketAddress = normalise(options.socketAddress) ?? options.socketAddress;
  if (options.forwardedFor === undefined || !options.trusted.includes(socketAddress)) return socketAddress;
  const hops = options.forwardedFor.split(',').slice(-maxHops).toReversed();
  let nearest = socketAddress;
  for (const hop of hops) {
    const address = normalise(hop.trim());
    // Our proxies write only addresses, so stop at the last trusted hop.
    if (address === null) return nearest;
    nearest = address;
    if (!options.trusted.includes(address)) return address;
  }
  return nearest;
}

function normalise(text: string): string | null {
  const bare = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  return parseAddress(bare)?.toString() ?? null;
}

/** The subject of limits per address: the /64 of an IPv6 address, because a customer can use all of it. */
export function addressBlock(address: string): string {
  const parsed = parseAddress(address);
  if (parsed === null) return 'unknown';
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString()}/64`;
}
