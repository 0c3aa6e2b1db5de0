import { createHash } from 'node:crypto';
import type { IncusDevices } from './api/schemas.ts';

const networkPattern = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/;
/** A subnet of 64 bits, as Incus writes the gateway's address in it. Others have no room for an address made of a MAC. */
const network6Pattern = /^([0-9a-f:]{2,39})\/64$/i;
/**
 * Subnets of machines. The bridge guard of a host has two rules for each address, so larger ones would fill its memory; smaller
 * ones hold no machine. `bridge-guard.sh` and `join.sh` accept the same.
 */
export const subnetBits = { min: 16, max: 29 } as const;
/** The vendor part that Incus itself gives to nics. */
const vendor = [0x10, 0x66, 0x6a] as const;

/** The identity of a machine's nic on its bridge. */
export interface NicAddresses {
  readonly ipv4: string;
  /** Null where the network has no IPv6 subnet of 64 bits: then the machine gets no IPv6 at all. */
  readonly ipv6: string | null;
  readonly hwaddr: string;
  /**
   * The name of the nic's other end on the host, by which a host's bridge guard knows which MAC belongs there. Not set where
   * the MAC does not follow from the IPv4 address.
   */
  readonly hostName?: string;
}

interface Subnet {
  readonly base: number;
  readonly size: number;
  readonly gateway: number;
}

function subnetOf(network: string): Subnet | null {
  const [, ...octets] = networkPattern.exec(network) ?? [];
  const numbers = octets.map(Number);
  const bits = numbers[4] ?? 32;
  if (numbers.length !== 5 || numbers.slice(0, 4).some((byte) => byte > 255)) return null;
  if (bits < subnetBits.min || bits > subnetBits.max) return null;
  const gateway = numbers.slice(0, 4).reduce((sum, byte) => sum * 256 + byte, 0);
  const size = 2 ** (32 - bits);
  return { base: gateway - (gateway % size), size, gateway };
}

const bytesOf = (address: number): number[] => [24, 16, 8, 0].map((shift) => (address >>> shift) & 255);
const hex = (bytes: readonly number[]): string[] => bytes.map((byte) => byte.toString(16).padStart(2, '0'));

/** Whether machines can be given addresses of this network, such as `10.20.0.1/16`. */
export function hasAddresses(network: string): boolean {
  return subnetOf(network) !== null;
}

/**
 * An address for a machine in a network such as `10.20.0.1/16` (as Incus writes the gateway's): the first one that is not
 * taken, beginning at a place that follows from the machine's id and the number of the attempt. Null when the network has none left, or
 * is none. Never the network's own, the gateway's or the broadcast address.
 */
export function addressIn(
  network: string,
  externalId: string,
  attempt: number,
  taken: ReadonlySet<string> = new Set(),
): string | null {
  const subnet = subnetOf(network);
  if (subnet === null) return null;
  const { base, size, gateway } = subnet;
  const digest = createHash('sha256').update(`${externalId} ${attempt}`).digest();
  // One to size - 2: the first is the network's, the last is everybody's.
  const room = size - 2;
  const first = digest.readUInt32BE(0) % room;
  for (let step = 0; step < room; step += 1) {
    const number = base + 1 + ((first + step) % room);
    const address = bytesOf(number).join('.');
    if (number !== gateway && !taken.has(address)) return address;
  }
  return null;
}

/**
 * The addresses of a nic. The MAC is made of the IPv4 address, so that it is as unique on the bridge, and the IPv6 address of
 * the MAC (EUI-64), so that a system inside that configures itself from router advertisements has the one that is let through.
 */
export function nicAddresses(ipv4: string, network6: string | undefined): NicAddresses {
  const bytes = ipv4.split('.').map(Number);
  const mac = [...vendor, ...bytes.slice(1)];
  const hostName = `mr${hex(bytes).join('')}`;
  return { ipv4, ipv6: ipv6Of(mac, network6 ?? ''), hwaddr: hex(mac).join(':'), hostName };
}

/** The addresses of a nic that keeps the MAC it has: the system inside may know the nic by it. */
export function addressesForMac(hwaddr: string, ipv4: string, network6: string | undefined): NicAddresses {
  const mac = hwaddr.split(':').map((byte) => Number.parseInt(byte, 16));
  return { ipv4, ipv6: ipv6Of(mac, network6 ?? ''), hwaddr };
}

function ipv6Of(mac: readonly number[], network6: string): string | null {
  const [, gateway] = network6Pattern.exec(network6) ?? [];
  const groups = gateway === undefined ? null : groupsOf(gateway);
  if (groups === null) return null;
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = mac;
  // The bit that says "given by the maker" is turned over, as RFC 4291 has it.
  const interfaceId = [((a ^ 2) << 8) | b, (c << 8) | 0xff, 0xfe00 | d, (e << 8) | f];
  return [...groups.slice(0, 4), ...interfaceId].map((group) => group.toString(16)).join(':');
}

/** The eight groups of an IPv6 address; null if it is none. */
function groupsOf(address: string): number[] | null {
  const [head = '', tail, ...more] = address.split('::');
  const read = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const [left, right] = [read(head), read(tail ?? '')];
  const missing = 8 - left.length - right.length;
  if (more.length > 0 || (tail === undefined ? missing !== 0 : missing < 1)) return null;
  const groups = [...left, ...Array.from({ length: missing }, () => 0), ...right];
  return groups.every((group) => Number.isInteger(group) && group >= 0 && group <= 0xffff) ? groups : null;
}

/** The IPv4 addresses that nics on this network were given. */
export function addressesOn(network: string, devices: IncusDevices): string[] {
  return Object.values(devices).flatMap((device) =>
    device['type'] === 'nic' && device['network'] === network ? [device['ipv4.address'] ?? ''] : [],
  );
}
