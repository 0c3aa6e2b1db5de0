import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { addressesOn, addressIn, nicAddresses, hasAddresses, subnetBits } from './incus-addresses.ts';

const toNumber = (address: string): number =>
  address.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0);

it('addressIn returns an address inside the network that is neither the first, the last nor the gateway', () => {
  const gateways = fc.tuple(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.integer(subnetBits));
  fc.assert(
    fc.property(gateways, fc.uuid(), fc.nat(20), ([gateway, bits], id, attempt) => {
      const text = [24, 16, 8, 0].map((shift) => (gateway >>> shift) & 255).join('.');
      const address = toNumber(addressIn(`${text}/${bits}`, id, attempt) ?? '');
      const size = 2 ** (32 - bits);
      const base = gateway - (gateway % size);
      expect(address).toBeGreaterThan(base);
      expect(address).toBeLessThan(base + size - 1);
      expect(address).not.toBe(gateway);
    }),
  );
});

it.each([
  [15, false],
  [16, true],
  [29, true],
  [30, false],
])('hasAddresses for a subnet of %i bits returns %s', (bits, expected) => {
  expect(hasAddresses(`10.20.0.1/${bits}`)).toBe(expected);
});

it('host scripts accept the same subnets as the driver', () => {
  const { min, max } = subnetBits;
  const read = (path: string): string =>
    readFileSync(new URL(`../../../../deploy/${path}`, import.meta.url), 'utf8');
  expect(read('incus/bridge-guard.sh')).toContain(`$5 < ${min} || $5 > ${max}`);
  expect(read('supplier/join.sh')).toContain(`$2 < ${min} || $2 > ${max}`);
});

it('addressIn returns the same address for the same attempt, and another for the next', () => {
  const id = '01a1de06-c3e2-72fa-8019-b6d4f0caf395';
  expect(addressIn('10.20.0.1/16', id, 0)).toBe(addressIn('10.20.0.1/16', id, 0));
  expect(addressIn('10.20.0.1/16', id, 0)).not.toBe(addressIn('10.20.0.1/16', id, 1));
});

it('addressIn returns null for networks that are invalid, too small or too large', () => {
  for (const network of ['', 'none', '10.0.0.1', '10.0.0.1/31', '10.0.0.1/0', '300.0.0.1/24', 'fd00::1/64']) {
    expect(addressIn(network, 'x', 0), network).toBeNull();
  }
});

it('addressIn uses every address of a network once and then returns null', () => {
  const taken = new Set<string>();
  for (let machine = 0; machine < 13; machine += 1) {
    const address = addressIn('10.0.0.5/28', `machine-${machine}`, 1, taken);
    expect(address).not.toBeNull();
    expect(taken).not.toContain(address);
    taken.add(address ?? '');
  }
  expect(taken).not.toContain('10.0.0.5');
  expect(addressIn('10.0.0.5/28', 'one-more', 1, taken)).toBeNull();
});

it('nicAddresses derives MAC, IPv6 address and interface name from the IPv4 address', () => {
  expect(nicAddresses('10.64.3.5', 'fd42:64::1/64')).toEqual({
    ipv4: '10.64.3.5',
    ipv6: 'fd42:64:0:0:1266:6aff:fe40:305',
    hwaddr: '10:66:6a:40:03:05',
    hostName: 'mr0a400305',
  });
});

it.each(['none', '', undefined, 'fd42::1/80', 'fd42:1:2:3:4:5:6:7:8/64', 'fd42::1::2/64', 'fffff::1/64'])(
  'nicAddresses has no IPv6 address for the subnet %s',
  (network6) => {
    expect(nicAddresses('10.64.3.5', network6).ipv6).toBeNull();
  },
);

it('nicAddresses differ in MAC, IPv6 address and interface name for two addresses of a subnet', () => {
  const byte = fc.integer({ min: 0, max: 255 });
  const place = fc.tuple(byte, byte, byte).map((bytes) => `10.${bytes.join('.')}`);
  fc.assert(
    fc.property(place, place, (first, second) => {
      fc.pre(first !== second);
      const [a, b] = [nicAddresses(first, 'fd00::1/64'), nicAddresses(second, 'fd00::1/64')];
      expect(a.hwaddr).not.toBe(b.hwaddr);
      expect(a.ipv6).not.toBe(b.ipv6);
      expect(a.hostName).not.toBe(b.hostName);
    }),
  );
});

it('addressesOn returns only addresses of nics on the network', () => {
  const devices = {
    eth0: { type: 'nic', network: 'tenants', 'ipv4.address': '10.0.0.7' },
    eth1: { type: 'nic', network: 'other', 'ipv4.address': '10.1.0.7' },
    root: { type: 'disk', path: '/' },
  };
  expect(addressesOn('tenants', devices)).toEqual(['10.0.0.7']);
});
