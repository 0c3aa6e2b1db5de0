import { expect, it } from 'vitest';
import { isDriverError } from '../driver-error.ts';
import { defaultLayout } from './layout.ts';
import { readMockLayout } from './mock-config.ts';

it('a mock fleet that nobody configured is the default one, whatever else is written of it', () => {
  expect(readMockLayout({})).toEqual(defaultLayout);
  expect(readMockLayout({ images: ['ubuntu-24.04'] })).toEqual(defaultLayout);
});

it('nodes of a configured mock fleet follow each other from the first address', () => {
  const addresses = readMockLayout({ firstAddress: '198.51.100.16' }).nodes.map(({ address }) => address);
  expect(addresses).toHaveLength(16);
  expect([addresses[0], addresses[15]]).toEqual(['198.51.100.16', '198.51.100.31']);
});

it.each(['nowhere', '198.51.100', '198.51.100.256', '198.51.100.240', 7])(
  '%s is refused in words',
  (firstAddress) => {
    expect(() => readMockLayout({ firstAddress })).toThrow(
      expect.toSatisfy((error) => isDriverError(error, 'refused') && error.message.includes('firstAddress')),
    );
  },
);
