import { describe, expect, test } from 'vitest';
import { toSnippetRequest, filterModels, priceLines, parseModelSearch, type CatalogModel } from './models.ts';

const model = (name: string, fields: Partial<CatalogModel> = {}): CatalogModel => ({
  name,
  ownedBy: 'acme',
  modality: 'chat',
  inputModalities: ['text'],
  contextLength: 4_096,
  maxOutputTokens: 1_024,
  promptNanoUsdPerMillionTokens: '100000000',
  cachedPromptNanoUsdPerMillionTokens: null,
  completionNanoUsdPerMillionTokens: '200000000',
  imageNanoUsd: null,
  characterNanoUsd: null,
  ...fields,
});
const image = model('acme/draw', {
  modality: 'image',
  promptNanoUsdPerMillionTokens: null,
  completionNanoUsdPerMillionTokens: null,
  imageNanoUsd: '10000000',
  contextLength: null,
});
const models = [
  image,
  model('acme/big', { completionNanoUsdPerMillionTokens: '900000000', contextLength: 131_072 }),
  model('acme/small'),
];
const names = (search: Parameters<typeof filterModels>[1]): string[] =>
  filterModels(models, search).map(({ name }) => name);

describe('filterModels', () => {
  test('filters by type and by part of the name', () => {
    expect(names({ kind: 'image' })).toEqual(['acme/draw']);
    expect(names({ name: 'BIG' })).toEqual(['acme/big']);
    expect(names({ kind: 'image', name: 'big' })).toEqual([]);
  });

  test('sorts as requested', () => {
    expect(names({})).toEqual(['acme/big', 'acme/draw', 'acme/small']);
    expect(names({ sort: 'price' })).toEqual(['acme/small', 'acme/big', 'acme/draw']);
    expect(names({ sort: 'context' })).toEqual(['acme/big', 'acme/small', 'acme/draw']);
  });

  test('ignores unknown URL parameters', () => {
    expect(parseModelSearch({ kind: 'smell', sort: 3, name: '' })).toEqual({});
    expect(parseModelSearch({ kind: 'audio', name: 'x' })).toEqual({ kind: 'audio', name: 'x' });
  });
});

test('priceLines lists only the prices that the model is sold by', () => {
  expect(priceLines(image)).toEqual([{ nano: '10000000', unit: 'per image (1024 x 1024, 25 steps)' }]);
  expect(priceLines(model('m')).map(({ unit }) => unit)).toEqual([
    'per million input tokens',
    'per million output tokens',
  ]);
});

test('toSnippetRequest covers every type that the playground supports', () => {
  expect(toSnippetRequest(model('m'))).toMatchObject({ kind: 'chat', model: 'm' });
  expect(toSnippetRequest(image)).toMatchObject({ kind: 'image' });
  expect(toSnippetRequest({ name: 'm', modality: 'audio' })).toMatchObject({ kind: 'speech' });
  expect(toSnippetRequest({ name: 'm', modality: 'completion' })).toBeNull();
});
