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
