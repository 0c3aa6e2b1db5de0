import { createHash } from 'node:crypto';
import type { IncusDevices } from './api/schemas.ts';

const networkPattern = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/;
/** A /64 subnet with the gateway's address, as Incus writes it. EUI-64 addresses need a /64. */
const network6Pattern = /^([0-9a-f:]{2,39})\/64$/i;
/**
 * Accepted subnet sizes. The bridge guard has two rules per address, so larger subnets would exhaust its memory; smaller ones
 * hold no machine. `bridge-guard.sh` and `join.sh` accept the same sizes.
 */
export const subnetBits = { min: 16, max: 29 } as const;
/** The MAC prefix that Incus itself uses. */
const vendor = [0x10, 0x66, 0x6a] as const;

/** The addresses of a machine's nic on its bridge. */
export interface NicAddresses {
  readonly ipv4: string;
  /** Null if the network has no /64 subnet; then the machine has no IPv6. */
  readonly ipv6: string | null;
  readonly hwaddr: string;
  /** Host end of the nic, by which the bridge guard knows its MAC. Omitted if the MAC is not derived from `ipv4`. */
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

export function hasAddresses(network: string): boolean {
  return subnetOf(network) !== null;
}

/**
 * Chooses a free address in a network such as `10.20.0.1/16` (gateway notation), starting at a position derived from machine id
 * and attempt. Null if the network is full or invalid. Never the network, gateway or broadcast address.
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
  // From 1 to size - 2, without the network and broadcast addresses.
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
 * Derives the MAC from the IPv4 address, so that it is unique on the bridge, and the IPv6 address from the MAC (EUI-64), so that
 * autoconfiguration yields the address that the filters allow.
 */
export function nicAddresses(ipv4: string, network6: string | undefined): NicAddresses {
  const bytes = ipv4.split('.').map(Number);
  const mac = [...vendor, ...bytes.slice(1)];
  const hostName = `mr${hex(bytes).join('')}`;
  return { ipv4, ipv6: ipv6Of(mac, network6 ?? ''), hwaddr: hex(mac).join(':'), hostName };
}

/** For an existing nic, whose MAC the operating system may have stored. */
export function addressesForMac(hwaddr: string, ipv4: string, network6: string | undefined): NicAddresses {
  const mac = hwaddr.split(':').map((byte) => Number.parseInt(byte, 16));
  return { ipv4, ipv6: ipv6Of(mac, network6 ?? ''), hwaddr };
}

function ipv6Of(mac: readonly number[], network6: string): string | null {
  const [, gateway] = network6Pattern.exec(network6) ?? [];
  const groups = gateway === undefined ? null : groupsOf(gateway);
  if (groups === null) return null;
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = mac;
  // RFC 4291 inverts the universal/local bit.
  const interfaceId = [((a ^ 2) << 8) | b, (c << 8) | 0xff, 0xfe00 | d, (e << 8) | f];
  return [...groups.slice(0, 4), ...interfaceId].map((group) => group.toString(16)).join(':');
}

/** The eight groups of an IPv6 address, or null if it is invalid. */
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

/** The IPv4 addresses of nics on this network. */
export function addressesOn(network: string, devices: IncusDevices): string[] {
  return Object.values(devices).flatMap((device) =>
    device['type'] === 'nic' && device['network'] === network ? [device['ipv4.address'] ?? ''] : [],
  );
}
