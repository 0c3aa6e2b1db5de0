import ipaddr from 'ipaddr.js';

/** A set of address blocks; IPv4 and IPv4-mapped IPv6 addresses are the same address. */
export interface CidrSet {
  includes(address: string): boolean;
}

/** Blocks in CIDR form; a bare address is a block of one. Throws on anything else: configuration is checked earlier. */
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

/** More hops than any honest chain of proxies. */
const maxHops = 32;

/**
 * The address a request came from. Each trusted proxy appends the address it saw, so the chain is walked
 * from the right and the first address that is not a trusted proxy is the client: everything left of it was
 * written by the client itself and proves nothing.
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
    // A hop that is no address was not written by a proxy of ours; the last one we believe stands.
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

/**
 * What a per-address limit counts. One IPv6 customer holds at least a /64 and could change address with every
 * request, so the block is counted; an IPv4 address stands for itself.
 */
export function addressBlock(address: string): string {
  const parsed = parseAddress(address);
  if (parsed === null) return 'unknown';
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString()}/64`;
}
