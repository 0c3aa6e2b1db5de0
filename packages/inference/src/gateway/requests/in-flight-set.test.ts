import fc from 'fast-check';
import { expect, test } from 'vitest';
import { InFlightSet, type InFlightEntry } from './in-flight-set.ts';

test('whoever came and did not leave is on the list, once, whatever the order', () => {
  const steps = fc.array(fc.oneof(fc.constant('come' as const), fc.nat(20)), { maxLength: 100 });
  fc.assert(
    fc.property(steps, (acts) => {
      const roster = new InFlightSet<number>();
      const seats: InFlightEntry<number>[] = [];
      const here = new Set<number>();
      for (const act of acts) {
        const seat = act === 'come' ? undefined : seats[act];
        if (act === 'come') {
          here.add(seats.length);
          seats.push(roster.add(seats.length));
        } else if (seat !== undefined) {
          // Also who has left before.
          roster.leave(seat);
          here.delete(seat.guest);
        }
        expect(roster.list().toSorted((a, b) => a - b)).toEqual([...here].toSorted((a, b) => a - b));
        expect(roster.size).toBe(here.size);
      }
    }),
  );
});
