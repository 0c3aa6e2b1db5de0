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

describe('looking for a model', () => {
  test('by what it does and by a part of its name', () => {
    expect(names({ kind: 'image' })).toEqual(['acme/draw']);
    expect(names({ name: 'BIG' })).toEqual(['acme/big']);
    expect(names({ kind: 'image', name: 'big' })).toEqual([]);
  });

  test('in the order that was asked for', () => {
    expect(names({})).toEqual(['acme/big', 'acme/draw', 'acme/small']);
    expect(names({ sort: 'price' })).toEqual(['acme/small', 'acme/big', 'acme/draw']);
    expect(names({ sort: 'context' })).toEqual(['acme/big', 'acme/small', 'acme/draw']);
  });

  test('what the address does not know is left out', () => {
    expect(parseModelSearch({ kind: 'smell', sort: 3, name: '' })).toEqual({});
    expect(parseModelSearch({ kind: 'audio', name: 'x' })).toEqual({ kind: 'audio', name: 'x' });
  });
});

test('a model has the prices of what it is sold by, and no others', () => {
  expect(priceLines(image)).toEqual([{ nano: '10000000', unit: 'an image of 1024 x 1024 in 25 steps' }]);
  expect(priceLines(model('m')).map(({ unit }) => unit)).toEqual(['a million tokens in', 'a million out']);
});

test('there is code for whatever the playground can do', () => {
  expect(toSnippetRequest(model('m'))).toMatchObject({ kind: 'chat', model: 'm' });
  expect(toSnippetRequest(image)).toMatchObject({ kind: 'image' });
  expect(toSnippetRequest({ name: 'm', modality: 'audio' })).toMatchObject({ kind: 'speech' });
  expect(toSnippetRequest({ name: 'm', modality: 'completion' })).toBeNull();
});
