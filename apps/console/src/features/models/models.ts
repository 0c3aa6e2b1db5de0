import type { Output } from '@millrace/sdk';
import { enumParam, definedParams, textParam } from '../../app/search-params.ts';
import type { SnippetRequest } from '../playground/snippets.ts';
import { kindForModality, type Modality } from '../playground/search.ts';

/** A model of the public catalog. */
export type CatalogModel = Output<'getCatalog'>['models'][number];

export const modalities = ['chat', 'completion', 'image', 'audio'] as const;
export const modelSorts = ['name', 'price', 'context'] as const;

export interface ModelSearch {
  readonly kind?: Modality;
  /** Part of the name. */
  readonly name?: string;
  readonly sort?: (typeof modelSorts)[number];
}

export function parseModelSearch(search: Readonly<Record<string, unknown>>): ModelSearch {
  return definedParams({
    kind: enumParam(search['kind'], modalities),
    name: textParam(search['name']),
    sort: enumParam(search['sort'], modelSorts),
  });
}

export const modalityLabels: Readonly<Record<Modality, string>> = {
  chat: 'Chat',
  completion: 'Completion',
  image: 'Image',
  audio: 'Speech',
};

export interface PriceLine {
  readonly nano: string;
  readonly unit: string;
}

/** Prices of the units that the model is sold by. */
export function priceLines(model: CatalogModel): readonly PriceLine[] {
  const lines: readonly (readonly [string | null, string])[] = [
    [model.promptNanoUsdPerMillionTokens, 'per million input tokens'],
    [model.cachedPromptNanoUsdPerMillionTokens, 'per million cached input tokens'],
    [model.completionNanoUsdPerMillionTokens, 'per million output tokens'],
    [model.imageNanoUsd, 'per image (1024 x 1024, 25 steps)'],
    [model.characterNanoUsd, 'per character'],
  ];
  return lines.flatMap(([nano, unit]) => (nano === null ? [] : [{ nano, unit }]));
}

/** Sort price: for text models the output price, which is the highest. */
function mainPrice(model: CatalogModel): bigint {
  const { completionNanoUsdPerMillionTokens: tokens, imageNanoUsd: image, characterNanoUsd: sign } = model;
  return BigInt(tokens ?? image ?? sign ?? '0');
}

const compareValues = (a: bigint | string | number, b: bigint | string | number): number =>
  a < b ? -1 : a > b ? 1 : 0;

/** Filters and sorts. Prices are compared only within one type. */
export function filterModels(models: readonly CatalogModel[], search: ModelSearch): readonly CatalogModel[] {
  const { kind, name = '', sort = 'name' } = search;
  const wanted = name.toLowerCase();
  const fitting = models.filter(
    (model) => (kind === undefined || model.modality === kind) && model.name.toLowerCase().includes(wanted),
  );
  return fitting.toSorted((a, b) => {
    const byName = compareValues(a.name, b.name);
    switch (sort) {
      case 'name':
        return byName;
      case 'price':
        return (
          compareValues(modalities.indexOf(a.modality), modalities.indexOf(b.modality)) ||
          compareValues(mainPrice(a), mainPrice(b)) ||
          byName
        );
      case 'context':
        return compareValues(b.contextLength ?? 0, a.contextLength ?? 0) || byName;
    }
  });
}

/** Example request for the code snippets; null if the type has none. */
export function toSnippetRequest({
  name,
  modality,
}: Pick<CatalogModel, 'name' | 'modality'>): SnippetRequest | null {
  switch (kindForModality(modality)) {
    case 'chat':
      return {
        kind: 'chat',
        model: name,
        messages: [{ role: 'user', content: 'How does a water mill work?' }],
      };
    case 'image':
      return {
        kind: 'image',
        model: name,
        prompt: 'a water mill at dusk',
        size: '1024x1024',
        n: 1,
        steps: 30,
      };
    case 'speech':
      return { kind: 'speech', model: name, input: 'The wheel turns.', voice: 'alloy' };
    case null:
      return null;
  }
}
