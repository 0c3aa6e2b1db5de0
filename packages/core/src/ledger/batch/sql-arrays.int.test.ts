import { createTestDatabase } from '@millrace/testing';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { instants, plainArray, texts } from './sql-arrays.ts';

const database = await createTestDatabase();
const client = await database.connect();
afterAll(async () => {
  await client.end();
  await database.drop();
});

const readBack = async (literal: string, type: string): Promise<unknown> => {
  const { rows } = await client.query<{ value: unknown }>(`select to_jsonb($1::${type}[]) as value`, [
    literal,
  ]);
  return rows[0]?.value;
};

describe('array parameters', () => {
  it('pass any text to PostgreSQL unchanged, including quotes, braces and NULL', async () => {
    const texty = fc.oneof(
      fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\u0000', '')),
      fc.constantFrom(
        '',
        'NULL',
        'null',
        '"',
        '\\',
        '\\"',
        '{a,b}',
        ' ',
        'a,b',
        "'; drop table x; --",
        '\n\t',
      ),
      fc.constant(null),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(texty, { maxLength: 20 }), async (values) => {
        expect(await readBack(texts(values), 'text')).toEqual(values);
      }),
      { numRuns: 200 },
    );
  });

  it('pass ids, numbers, booleans, constants and instants unchanged', async () => {
    const id = '01890a5d-ac96-774b-bcce-b302099a8057';
    expect(await readBack(plainArray([id, null]), 'uuid')).toEqual([id, null]);
    expect(await readBack(plainArray([-5n, null, 7n]), 'bigint')).toEqual([-5, null, 7]);
    expect(await readBack(plainArray([3, -2]), 'smallint')).toEqual([3, -2]);
    expect(await readBack(plainArray([true, false]), 'boolean')).toEqual([true, false]);
    expect(await readBack(plainArray(['live', 'top_up']), 'text')).toEqual(['live', 'top_up']);
    const times = [Date.UTC(2026, 0, 31, 23, 59, 59, 999), 0, 0];
    const epochs = await readBack(instants(times), 'timestamptz');
    expect((epochs as readonly string[]).map((text) => Date.parse(text))).toEqual(times);
    expect(await readBack(plainArray([]), 'uuid')).toEqual([]);
  });
});
