import { expect, test } from 'vitest';
import { addressBlock, clientIp, createCidrSet } from './client-ip.ts';

const trusted = createCidrSet(['10.0.0.0/8', '2001:db8:1::/48', '192.0.2.1']);

test.each([
  ['no header', '10.0.0.1', undefined, '10.0.0.1'],
  ['a forged header from an untrusted address', '203.0.113.9', '1.1.1.1', '203.0.113.9'],
  ['one proxy', '10.0.0.1', '198.51.100.7', '198.51.100.7'],
  ['a forged left end', '10.0.0.1', '1.1.1.1, 198.51.100.7', '198.51.100.7'],
  ['two proxies', '10.0.0.1', '198.51.100.7, 10.0.0.2', '198.51.100.7'],
  ['only proxies in the chain', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
  ['an invalid entry left of a proxy', '10.0.0.1', 'unknown, 10.0.0.2', '10.0.0.2'],
  ['only an invalid entry', '10.0.0.1', 'evil', '10.0.0.1'],
  ['an empty hop', '10.0.0.1', '198.51.100.7,', '10.0.0.1'],
  ['a mapped socket address', '::ffff:10.0.0.1', '198.51.100.7', '198.51.100.7'],
  ['a mapped client', '10.0.0.1', '::ffff:198.51.100.7', '198.51.100.7'],
  ['an IPv6 proxy and client', '2001:db8:1::1', '2001:db8:ffff::7', '2001:db8:ffff::7'],
  ['hops with ports', '10.0.0.1', '198.51.100.7:4711, [2001:db8:1::2]:443', '198.51.100.7'],
  ['a single trusted address', '192.0.2.1', '198.51.100.7', '198.51.100.7'],
  ['an untrusted neighbour of a trusted address', '192.0.2.2', '198.51.100.7', '192.0.2.2'],
])('clientIp handles %s', (_name, socketAddress, forwardedFor, expected) => {
  expect(clientIp({ socketAddress, forwardedFor, trusted })).toBe(expected);
});

test('addressBlock returns the same block for all addresses of an IPv6 /64', () => {
  expect(addressBlock('2001:db8:1:2:3:4:5:6')).toBe(addressBlock('2001:db8:1:2:ffff::1'));
  expect(addressBlock('2001:db8:1:2::1')).not.toBe(addressBlock('2001:db8:1:3::1'));
  expect(addressBlock('203.0.113.9')).toBe('203.0.113.9');
  expect(addressBlock('::ffff:203.0.113.9')).toBe('203.0.113.9');
  expect(addressBlock('')).toBe('unknown');
});
