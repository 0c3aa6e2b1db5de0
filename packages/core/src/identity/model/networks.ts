import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Address ranges from which an API key can be used. IPv4 written as IPv6 (`::ffff:10.0.0.1`) is normalised to IPv4, so that
 * another spelling cannot bypass a rule.
 */
type Address = ipaddr.IPv4 | ipaddr.IPv6;

export interface Network {
  readonly base: Address;
  readonly prefixLength: number;
}

export type ParsedNetwork =
  | { readonly ok: true; readonly network: Network }
  | { readonly ok: false; readonly why: string };

const V4_IN_V6_BITS = 96;

/** Reads `address` or `address/length`; otherwise returns what is wrong. */
export function parseNetwork(text: string): ParsedNetwork {
  const [host = '', length, ...rest] = text.split('/');
  const address = readAddress(host);
  if (address === null || rest.length > 0) {
    return {
      ok: false,
      why: `"${shorten(text)}" is not an IP address or a network in CIDR form, such as 10.0.0.0/8`,
    };
  }
  const bits = isIPv6(host) ? 128 : 32;
  if (length === undefined) return { ok: true, network: { base: address, prefixLength: widthOf(address) } };
  if (!/^(0|[1-9][0-9]{0,2})$/.test(length) || Number(length) > bits) {
    return { ok: false, why: `"/${shorten(length)}" is not a prefix length from 0 to ${String(bits)}` };
  }
  return withPrefix({ address, writtenBits: bits, prefixLength: Number(length) });
}

function withPrefix(written: { address: Address; writtenBits: number; prefixLength: number }): ParsedNetwork {
  const { address } = written;
  let { prefixLength } = written;
  if (written.writtenBits === 128 && widthOf(address) === 32) {
    if (prefixLength < V4_IN_V6_BITS) {
      return { ok: false, why: 'an IPv4-mapped IPv6 network needs a prefix length of 96 or more' };
    }
    prefixLength -= V4_IN_V6_BITS;
  }
  const base = networkBase(address, prefixLength);
  if (base.toString() !== address.toString()) {
    // Whether "10.0.0.5/8" means all of 10/8 or one host would be a guess about security, so it is rejected.
    const meant = `${base.toString()}/${String(prefixLength)} or ${address.toString()}/${String(widthOf(address))}`;
    return { ok: false, why: `the address has bits set beyond its prefix length; write ${meant}` };
  }
  return { ok: true, network: { base, prefixLength } };
}

/** The stored and displayed spelling. */
export function formatNetwork(network: Network): string {
  return `${network.base.toString()}/${String(network.prefixLength)}`;
}

/** An unreadable address is in no network. */
export function isInNetworks(addressText: string, networks: readonly Network[]): boolean {
  const address = readAddress(addressText);
  return address !== null && networks.some((network) => contains(network, address, widthOf(address)));
}

/** Whether every address of `inner` is in `outer`. */
export function coversNetwork(outer: Network, inner: Network): boolean {
  return contains(outer, inner.base, inner.prefixLength);
}

function contains(network: Network, base: Address, prefixLength: number): boolean {
  if (network.base.kind() !== base.kind() || prefixLength < network.prefixLength) return false;
  return networkBase(base, network.prefixLength).toString() === network.base.toString();
}

function readAddress(text: string): Address | null {
  // The library also reads "10.1", octal numbers and zone indices; a security rule accepts only the plain spelling.
  if (isIPv4(text)) return ipaddr.IPv4.parse(text);
  if (!isIPv6(text) || text.includes('%')) return null;
  const address = ipaddr.IPv6.parse(text);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

function widthOf(address: Address): 32 | 128 {
  return address.kind() === 'ipv4' ? 32 : 128;
}

function networkBase(address: Address, prefixLength: number): Address {
  const bytes = address.toByteArray().map((byte, index) => {
    const bits = Math.min(8, Math.max(0, prefixLength - index * 8));
    return byte & ((0xff << (8 - bits)) & 0xff);
  });
  return ipaddr.fromByteArray(bytes);
}

function shorten(text: string): string {
  return text.length > 64 ? `${text.slice(0, 61)}...` : text;
}
