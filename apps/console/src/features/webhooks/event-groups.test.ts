import { eventTypeNames } from '@millrace/contract/event-types';
import { expect, it } from 'vitest';
import { eventGroups, typesText } from './event-groups.ts';

it('every type stands in exactly one group that has a name and says what it is', () => {
  const grouped = eventGroups.flatMap(({ types }) => types.map(({ type }) => type));
  expect(grouped.toSorted()).toEqual([...eventTypeNames].toSorted());
  for (const { label, types } of eventGroups) {
    expect(label).toMatch(/^[A-Z]/);
    for (const { about } of types) expect(about).toMatch(/\.$/);
  }
});

it('types are told in few words', () => {
  expect(typesText(['*', 'rental.running'])).toBe('every event');
  expect(typesText(['rental.running'])).toBe('rental.running');
  expect(typesText(['a', 'b', 'c', 'd'])).toBe('a, b and 2 more');
});
