import { expect, test } from 'vitest';
import { chooseModel, parsePlaygroundSearch } from './search.ts';

test('parsePlaygroundSearch falls back to chat for invalid parameters', () => {
  expect(parsePlaygroundSearch({})).toEqual({});
  expect(parsePlaygroundSearch({ kind: 'poem', model: 7 })).toEqual({});
  expect(parsePlaygroundSearch({ kind: 'image', model: 'acme/image' })).toEqual({
    kind: 'image',
    model: 'acme/image',
  });
});

test('chooseModel lists the models of a type and selects the named one or the first', () => {
  const models = [
    { id: 'a', modality: 'chat' },
    { id: 'b', modality: 'image' },
    { id: 'c', modality: 'chat' },
    { id: 'd', modality: 'completion' },
  ] as const;
  expect(chooseModel(models, 'chat', 'c')).toMatchObject({
    fitting: [{ id: 'a' }, { id: 'c' }],
    chosen: { id: 'c' },
  });
  expect(chooseModel(models, 'chat', 'b').chosen?.id).toBe('a');
  expect(chooseModel(models, 'speech', 'a')).toEqual({ fitting: [], chosen: undefined });
});
