import { expect, test } from 'vitest';

import { wordsOf } from './rules/glossary-words.ts';
import { storedNamesIn } from './stored-names.ts';

test('wordsOf: splits a name at capitals, hyphens and dots, and skips SQL names', () => {
  expect(wordsOf('readWishOf')).toEqual(['read', 'wish', 'of']);
  expect(wordsOf('held-lease.int.test.ts')).toEqual(['held', 'lease', 'int', 'test', 'ts']);
  expect(wordsOf('MAX_WISHES')).toEqual(['max', 'wishes']);
  expect(wordsOf('doomed_at')).toEqual([]);
});

test('storedNamesIn: returns columns and API fields that contain a refused word', () => {
  const schema =
    'CREATE TABLE public.items (\n    kept boolean,\n    region text,\n    gone_at timestamptz\n);';
  const api = { schemas: { Item: { properties: { answer: { properties: { seatId: {} } }, id: {} } } } };
  expect(storedNamesIn(schema, [api])).toEqual(['answer', 'kept', 'seatId', 'strays', 'terminateAskedAtMs']);
});
