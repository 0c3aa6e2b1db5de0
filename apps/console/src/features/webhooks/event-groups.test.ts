import { eventTypeNames } from '@millrace/contract/event-types';
import { expect, it } from 'vitest';
import { eventGroups, typesText } from './event-groups.ts';

it('event groups contain every event type once, with name and description', () => {
  const grouped = eventGroups.flatMap(({ types }) => types.map(({ type }) => type));
  expect(grouped.toSorted()).toEqual([...eventTypeNames].toSorted());
  for (const { label, types } of eventGroups) {
    expect(label).toMatch(/^[A-Z]/);
    for (const { about } of types) expect(about).toMatch(/\.$/);
  }
});

it('typesText shortens a list of types', () => {
  expect(typesText(['*', 'rental.running'])).toBe('all events');
  expect(typesText(['rental.running'])).toBe('rental.running');
  expect(typesText(['a', 'b', 'c', 'd'])).toBe('a, b and 2 more');
});
