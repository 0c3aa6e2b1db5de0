import { once } from 'node:events';
import type { LookupAddress } from 'node:dns';
import { BlockList, createServer, isIP, type AddressInfo, type LookupFunction } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createNetGuard,
  ForbiddenAddressError,
  guardedConnect,
  guardedLookup,
  assertAddressAllowed,
} from './guard.ts';

const guard = createNetGuard({ allowedNetworks: [] });
const lenient = createNetGuard({ allowedNetworks: ['127.0.0.0/8', 'fd00:1::/32'] });

test.each([
  '127.0.0.1',
  '127.255.255.254',
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '100.64.0.1',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.8',
  '192.0.2.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:a9fe:a9fe',
  '::127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::7f00:1',
  '100::1',
  '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  '2001:db8::1',
  '2002:7f00:1::',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
])('problemWith refuses %s', (address) => {
  expect(guard.problemWith(address)).not.toBeNull();
});

test.each([
  '8.8.8.8',
  '1.1.1.1',
  '172.32.0.1',
  '192.169.0.1',
  '2606:4700::1111',
  '2a00:1450:4001::1',
  '::ffff:8.8.8.8',
])('problemWith allows %s', (address) => {
  expect(guard.problemWith(address)).toBeNull();
});

test.each(['', 'example.com', '1', '0x7f.1', '127.1', '8.8.8.8/32', '[::1]', ' 8.8.8.8'])(
  'problemWith refuses %j, which is not an address',
  (text) => {
    expect(guard.problemWith(text)).toBe('it is not an IP address');
  },
);

test('createNetGuard allows the networks of the operator and no others', () => {
  expect(lenient.problemWith('127.0.0.1')).toBeNull();
  expect(lenient.problemWith('::ffff:127.0.0.1')).toBeNull();
  expect(lenient.problemWith('fd00:1::7')).toBeNull();
  expect(lenient.problemWith('10.0.0.1')).not.toBeNull();
  expect(lenient.problemWith('fd00:2::7')).not.toBeNull();
});

test('problemWith refuses every address of a special range', () => {
  // Listed independently from the registry of special addresses, and checked by another library.
  const special = new BlockList();
  const blocks = [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
  ];
  const others = ['192.0.0.0/24', '192.168.0.0/16', '198.18.0.0/15', '224.0.0.0/4', '240.0.0.0/4'];
  for (const block of [...blocks, ...others]) {
    const [network = '', bits] = block.split('/');
    special.addSubnet(network, Number(bits), 'ipv4');
  }
  const address = fc
    .integer({ min: 0, max: 0xff_ff_ff_ff })
    .map((n) => [24, 16, 8, 0].map((s) => (n >>> s) & 255).join('.'));
  fc.assert(
    fc.property(address, (text) => {
      if (special.check(text)) expect(guard.problemWith(text)).not.toBeNull();
      expect(guard.problemWith(`::ffff:${text}`) === null).toBe(guard.problemWith(text) === null);
    }),
    { numRuns: 2_000 },
  );
});

function lookedUp(lookup: LookupFunction, all: boolean): Promise<unknown> {
  return new Promise((resolve, reject) => {
    lookup('name.example', { all }, (error, address, family) => {
      if (error) reject(error);
      else resolve(all ? address : { address, family });
    });
  });
}

const answering =
  (...addresses: string[]): Parameters<typeof guardedLookup>[1] =>
  (_name, _options, callback) =>
    callback(
      null,
      addresses.map((address): LookupAddress => ({ address, family: isIP(address) })),
    );

test('guardedLookup checks the addresses of a name at the moment of connecting', async () => {
  const inside = guardedLookup(guard, answering('10.0.0.1', '::1'));
  await expect(lookedUp(inside, true)).rejects.toBeInstanceOf(ForbiddenAddressError);
  await expect(lookedUp(inside, false)).rejects.toMatchObject({
    code: 'ERR_ADDRESS_FORBIDDEN',
    // Suppliers read this message, so it must not contain internal addresses.
    message: 'Connection to name.example refused: its address is not on the public internet',
  });
  await expect(lookedUp(guardedLookup(guard, answering()), true)).rejects.toBeInstanceOf(
    ForbiddenAddressError,
  );
  const mixed = guardedLookup(guard, answering('10.0.0.1', '8.8.8.8'));
  expect(await lookedUp(mixed, true)).toEqual([{ address: '8.8.8.8', family: 4 }]);
  expect(await lookedUp(mixed, false)).toEqual({ address: '8.8.8.8', family: 4 });
});

test('guardedLookup passes on a lookup error', async () => {
  const lost = Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
  const lookup = guardedLookup(guard, (_name, _options, callback) => callback(lost, []));
  await expect(lookedUp(lookup, true)).rejects.toBe(lost);
});

test('assertAddressAllowed refuses forbidden addresses and accepts all names', () => {
  expect(() => assertAddressAllowed(guard, '169.254.169.254')).toThrow(ForbiddenAddressError);
  expect(() => assertAddressAllowed(guard, '[::1]')).toThrow(ForbiddenAddressError);
  expect(() => assertAddressAllowed(guard, '8.8.8.8')).not.toThrow();
  expect(() => assertAddressAllowed(guard, 'localhost')).not.toThrow();
});

test.each(['localhost', '127.0.0.1', '2130706433', '0x7f000001'])(
  'guardedConnect reaches a loopback server as %s only if the operator allows it',
  async (host) => {
    const server = createServer((socket) => socket.end());
    let seen = 0;
    server.on('connection', () => (seen += 1));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const signal = AbortSignal.timeout(60_000);
    await expect(guardedConnect(guard, { host, port }, signal)).rejects.toThrow(/refused: /);
    expect(seen).toBe(0);
    const socket = await guardedConnect(lenient, { host, port }, signal);
    expect(socket.remoteAddress).toBe('127.0.0.1');
    socket.destroy();
    server.close();
  },
);

test('guardedConnect does not connect after an abort', async () => {
  const target = { host: '127.0.0.1', port: 1 };
  await expect(guardedConnect(lenient, target, AbortSignal.abort(new Error('late')))).rejects.toThrow('late');
});
