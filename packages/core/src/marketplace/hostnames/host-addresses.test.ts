import { SimulatedClock } from '@millrace/platform/clock';
import { createNetGuard } from '@millrace/platform/net';
import { expect, test } from 'vitest';
import { HostAddresses } from './host-addresses.ts';

const guard = createNetGuard({ allowedNetworks: ['198.18.0.0/15'] });

function setUp(names: Record<string, readonly string[]>) {
  const clock = new SimulatedClock();
  let lookups = 0;
  const addresses = new HostAddresses({
    clock,
    guard,
    resolve: async (name) => {
      lookups += 1;
      const found = names[name];
      if (found === undefined) throw new Error('no such name');
      return found;
    },
  });
  const of = async (host: string, isSupplied = true) => (await addresses.of([{ host, isSupplied }]))[0];
  return { clock, names, of, lookups: () => lookups };
}

test.each(['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1', 'fd00::1', '::ffff:10.0.0.1'])(
  "Caddy never connects to %s for a supplier's host",
  async (inside) => {
    const { of } = setUp({ 'gpu.example.com': [inside] });
    expect(await of(inside)).toBeNull();
    expect(await of('gpu.example.com')).toBeNull();
  },
);

test("suppliers' machines are reached on the internet and in networks that the operator allows", async () => {
  const { of } = setUp({ 'gpu.example.com': ['10.0.0.1', '8.8.8.8'] });
  expect(await of('8.8.4.4')).toBe('8.8.4.4');
  expect(await of('198.18.0.7')).toBe('198.18.0.7');
  expect(await of('gpu.example.com')).toBe('8.8.8.8');
});

test('the operator’s machines may have internal addresses', async () => {
  const { of } = setUp({ 'gpu.internal': ['10.0.0.1'] });
  expect(await of('10.0.0.2', false)).toBe('10.0.0.2');
  expect(await of('gpu.internal', false)).toBe('10.0.0.1');
});

test('a name is resolved once a minute, and its addresses are checked each time', async () => {
  const { clock, names, of, lookups } = setUp({ 'gpu.example.com': ['8.8.8.8'] });
  expect(await of('gpu.example.com')).toBe('8.8.8.8');
  names['gpu.example.com'] = ['127.0.0.1'];
  expect(await of('gpu.example.com')).toBe('8.8.8.8');
  expect(lookups()).toBe(1);
  await clock.advance(60_000);
  expect(await of('gpu.example.com')).toBeNull();
});

test('a failing name server keeps the known addresses, and an unknown name has none', async () => {
  const { clock, names, of } = setUp({ 'gpu.example.com': ['8.8.8.8'] });
  expect(await of('gpu.example.com')).toBe('8.8.8.8');
  delete names['gpu.example.com'];
  await clock.advance(60_000);
  expect(await of('gpu.example.com')).toBe('8.8.8.8');
  expect(await of('other.example.com')).toBeNull();
});

test('an unresponsive name server delays other names by one second, once', async () => {
  const clock = new SimulatedClock();
  const slow = Promise.withResolvers<readonly string[]>();
  const addresses = new HostAddresses({
    clock,
    guard,
    resolve: async (name) => (name === 'slow.example.com' ? slow.promise : ['8.8.8.8']),
  });
  const hosts = ['slow.example.com', 'gpu.example.com'].map((host) => ({ host, isSupplied: true }));
  const first = addresses.of(hosts);
  await clock.advance(1_000);
  expect(await first).toEqual([null, '8.8.8.8']);
  expect(await addresses.of(hosts)).toEqual([null, '8.8.8.8']);
  slow.resolve(['8.8.4.4']);
  await clock.advance(0);
  expect(await addresses.of(hosts)).toEqual(['8.8.4.4', '8.8.8.8']);
});
