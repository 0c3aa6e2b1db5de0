import { expect, test } from 'vitest';
import { chooseModel, parsePlaygroundSearch } from './search.ts';

test('an address that says nonsense opens the chat', () => {
  expect(parsePlaygroundSearch({})).toEqual({});
  expect(parsePlaygroundSearch({ kind: 'poem', model: 7 })).toEqual({});
  expect(parsePlaygroundSearch({ kind: 'image', model: 'acme/image' })).toEqual({
    kind: 'image',
    model: 'acme/image',
  });
});

test('each side shows the models that are for it, and takes the one that was named or the first', () => {
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
