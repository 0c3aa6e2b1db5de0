import { expect, it } from 'vitest';
import { isDriverError } from '../driver-error.ts';
import { defaultLayout } from './layout.ts';
import { readMockLayout } from './mock-config.ts';

it('readMockLayout returns the default fleet without settings and ignores unknown ones', () => {
  expect(readMockLayout({})).toEqual(defaultLayout);
  expect(readMockLayout({ images: ['ubuntu-24.04'] })).toEqual(defaultLayout);
});

it('readMockLayout numbers the nodes from firstAddress', () => {
  const addresses = readMockLayout({ firstAddress: '198.51.100.16' }).nodes.map(({ address }) => address);
  expect(addresses).toHaveLength(16);
  expect([addresses[0], addresses[15]]).toEqual(['198.51.100.16', '198.51.100.31']);
});

it.each(['nowhere', '198.51.100', '198.51.100.256', '198.51.100.240', 7])(
  'readMockLayout refuses firstAddress %s and names the setting',
  (firstAddress) => {
    expect(() => readMockLayout({ firstAddress })).toThrow(
      expect.toSatisfy((error) => isDriverError(error, 'refused') && error.message.includes('firstAddress')),
    );
  },
);

it('readMockLayout replaces the default fleet by the nodes of the settings', () => {
  const layout = readMockLayout({
    firstAddress: '127.0.90.1',
    nodes: [
      { name: 'a', gpuModel: 'h200', fabric: 'left' },
      { name: 'b', gpuModel: 'rtx4090', gpuCount: 2, silent: true },
    ],
  });
  expect(layout.nodes).toMatchObject([
    { name: 'a', address: '127.0.90.1', gpuModel: 'h200', gpuCount: 8, cpuCount: 192, fabric: 'left' },
    { name: 'b', address: '127.0.90.2', gpuModel: 'rtx4090', gpuCount: 2, cpuCount: 48, fabric: null },
  ]);
  expect(layout.silentNodes).toEqual(['b']);
});

it.each([
  [{ nodes: [] }, 'nodes'],
  [{ nodes: [{ name: 'a', gpuModel: 'unknown' }] }, 'nodes.0.gpuModel'],
  [
    {
      firstAddress: '127.0.0.254',
      nodes: [
        { name: 'a', gpuModel: 'h100' },
        { name: 'b', gpuModel: 'h100' },
      ],
    },
    'firstAddress',
  ],
])('readMockLayout refuses %j and names the setting', (settings, name) => {
  expect(() => readMockLayout(settings)).toThrow(name);
});
