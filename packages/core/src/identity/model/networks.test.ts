import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { coversNetwork, formatNetwork, isInNetworks, parseNetwork, type Network } from './networks.ts';

function network(text: string): Network {
  const parsed = parseNetwork(text);
  if (!parsed.ok) throw new Error(`${text}: ${parsed.why}`);
  return parsed.network;
}

describe('networks of a key', () => {
  it.each([
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['10.1.2.3', '10.1.2.3/32'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['2001:DB8::/32', '2001:db8::/32'],
    ['::1', '::1/128'],
    ['::ffff:10.1.2.3', '10.1.2.3/32'],
    ['::ffff:10.0.0.0/104', '10.0.0.0/8'],
  ])('store %s as %s', (written, stored) => {
    expect(formatNetwork(network(written))).toBe(stored);
  });

  it.each([
    ['', 'not an IP address'],
    ['10.1', 'not an IP address'],
    ['010.0.0.1', 'not an IP address'],
    ['0x0a000001', 'not an IP address'],
    ['10.0.0.0/8/8', 'not an IP address'],
    ['fe80::1%eth0', 'not an IP address'],
    ['10.0.0.0/33', 'from 0 to 32'],
    ['10.0.0.0/08', 'from 0 to 32'],
    ['10.0.0.0/', 'from 0 to 32'],
    ['::/129', 'from 0 to 128'],
    ['::ffff:0.0.0.0/95', '96 or more'],
    ['10.0.0.5/8', 'write 10.0.0.0/8 or 10.0.0.5/32'],
  ])('reject %j with the reason', (written, reason) => {
    expect(parseNetwork(written)).toEqual({ ok: false, why: expect.stringContaining(reason) });
  });

  it('match a caller in any spelling of its address', () => {
    const rules = [network('10.0.0.0/8'), network('2001:db8::/32')];
    for (const inside of ['10.255.0.1', '::ffff:10.255.0.1', '::ffff:aff:1', '2001:db8:1::9']) {
      expect(isInNetworks(inside, rules), inside).toBe(true);
    }
    for (const outside of ['11.0.0.1', '::ffff:11.0.0.1', '2001:db9::1', '::a00:1', 'unknown', '']) {
      expect(isInNetworks(outside, rules), outside).toBe(false);
    }
  });

  it('never match IPv4 with an IPv6 rule for everything, or the reverse', () => {
    expect(isInNetworks('10.0.0.1', [network('::/0')])).toBe(false);
    expect(isInNetworks('2001:db8::1', [network('0.0.0.0/0')])).toBe(false);
  });

  it('cover exactly the networks whose addresses they all contain', () => {
    const v4 = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)).map((bytes) => bytes.join('.'));
    fc.assert(
      fc.property(v4, fc.integer({ min: 0, max: 32 }), fc.integer({ min: 0, max: 32 }), (address, a, b) => {
        const [outer, inner] = [maskedTo(address, Math.min(a, b)), maskedTo(address, Math.max(a, b))];
        expect(coversNetwork(outer, inner)).toBe(true);
        expect(coversNetwork(inner, outer)).toBe(a === b);
        expect(isInNetworks(address, [inner])).toBe(true);
      }),
    );
  });
});

/** The network of that length around an address, from the parser's suggestion. */
function maskedTo(address: string, prefixLength: number): Network {
  const parsed = parseNetwork(`${address}/${String(prefixLength)}`);
  if (parsed.ok) return parsed.network;
  return network(/write (\S+) or/.exec(parsed.why)?.[1] ?? '');
}
