import fc from 'fast-check';
import { expect, test } from 'vitest';
import { InFlightSet, type InFlightEntry } from './in-flight-set.ts';

test('InFlightSet lists each added entry once until it leaves, in any order', () => {
  const steps = fc.array(fc.oneof(fc.constant('come' as const), fc.nat(20)), { maxLength: 100 });
  fc.assert(
    fc.property(steps, (sequence) => {
      const set = new InFlightSet<number>();
      const entries: InFlightEntry<number>[] = [];
      const here = new Set<number>();
      for (const step of sequence) {
        const entry = step === 'come' ? undefined : entries[step];
        if (step === 'come') {
          here.add(entries.length);
          entries.push(set.add(entries.length));
        } else if (entry !== undefined) {
          // Entries may leave twice.
          set.leave(entry);
          here.delete(entry.guest);
        }
        expect(set.list().toSorted((a, b) => a - b)).toEqual([...here].toSorted((a, b) => a - b));
        expect(set.size).toBe(here.size);
      }
    }),
  );
});
