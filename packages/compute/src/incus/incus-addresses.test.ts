import fc from 'fast-check';
import { expect, it } from 'vitest';
import { addressIn } from './incus-addresses.ts';

const toNumber = (address: string): number =>
  address.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0);

it('an address is inside its network, and neither its first, its last nor the gateway', () => {
  const gateways = fc.tuple(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.integer({ min: 8, max: 29 }));
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

it('a machine keeps its address at every attempt of the same number, and has another at the next', () => {
  const id = '01a1de06-c3e2-72fa-8019-b6d4f0caf395';
  expect(addressIn('10.20.0.1/16', id, 0)).toBe(addressIn('10.20.0.1/16', id, 0));
  expect(addressIn('10.20.0.1/16', id, 0)).not.toBe(addressIn('10.20.0.1/16', id, 1));
});

it('what is no network, or has no room, gives no address', () => {
  for (const network of ['', 'none', '10.0.0.1', '10.0.0.1/31', '10.0.0.1/0', '300.0.0.1/24', 'fd00::1/64']) {
    expect(addressIn(network, 'x', 0), network).toBeNull();
  }
});
