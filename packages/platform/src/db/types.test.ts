import fc from 'fast-check';
import { types } from 'pg';
import { expect, it } from 'vitest';
import { parseTextArray } from './types.ts';

const textArrayOid = 1009 as typeof types.builtins.INT8;
const parseByDriver = types.getTypeParser(textArrayOid, 'text') as (value: string) => unknown;

/** Prints a list as PostgreSQL does, with quotes only where they are necessary. */
function print(items: readonly (string | null)[]): string {
  const words = items.map((item) => {
    if (item === null) return 'NULL';
    const plain = item !== '' && !/[\s",{}\\]/.test(item) && item.toUpperCase() !== 'NULL';
    return plain ? item : `"${item.replaceAll(/["\\]/g, '\\$&')}"`;
  });
  return `{${words.join(',')}}`;
}

it('parseTextArray parses every text array like the driver', () => {
  const item = fc.oneof(
    fc.constantFrom('rentals:read', '10.0.0.0/8', 'null', 'NULL', '', ' ', '{}', 'a,b', '\\', '"', null),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(item), (items) => {
      expect(parseTextArray(print(items))).toEqual(items);
      expect(parseTextArray(print(items))).toEqual(parseByDriver(print(items)));
    }),
  );
});
