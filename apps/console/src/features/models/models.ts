import type { Answer } from '@millrace/sdk';
import { oneOf, present, textOf } from '../../app/search.ts';
import type { CodeWish } from '../playground/code.ts';
import { kindOf, type Modality } from '../playground/search.ts';

/** Models as the open catalog lists them. */
export type CatalogModel = Answer<'getCatalog'>['models'][number];

export const modalities = ['chat', 'completion', 'image', 'audio'] as const;
export const modelSorts = ['name', 'price', 'context'] as const;

export interface ModelSearch {
  readonly kind?: Modality;
  /** A part of the name. */
  readonly name?: string;
  readonly sort?: (typeof modelSorts)[number];
}

export function readModelSearch(search: Readonly<Record<string, unknown>>): ModelSearch {
  return present({
    kind: oneOf(search['kind'], modalities),
    name: textOf(search['name']),
    sort: oneOf(search['sort'], modelSorts),
  });
}

export const modalityWords: Readonly<Record<Modality, string>> = {
  chat: 'Chat',
  completion: 'Completion',
  image: 'Image',
  audio: 'Speech',
};

export interface PriceLine {
  readonly nano: string;
  readonly unit: string;
}

/** What a model is sold by. */
export function priceLines(model: CatalogModel): readonly PriceLine[] {
  const lines: readonly (readonly [string | null, string])[] = [
    [model.promptNanoUsdPerMillionTokens, 'a million tokens in'],
    [model.cachedPromptNanoUsdPerMillionTokens, 'a million cached'],
    [model.completionNanoUsdPerMillionTokens, 'a million out'],
    [model.imageNanoUsd, 'an image of 1024 x 1024 in 25 steps'],
    [model.characterNanoUsd, 'a character'],
  ];
  return lines.flatMap(([nano, unit]) => (nano === null ? [] : [{ nano, unit }]));
}

/** What two models are compared by: of text the answers, which cost the most. */
function mainPrice(model: CatalogModel): bigint {
  const { completionNanoUsdPerMillionTokens: tokens, imageNanoUsd: image, characterNanoUsd: sign } = model;
  return BigInt(tokens ?? image ?? sign ?? '0');
}

const order = (a: bigint | string | number, b: bigint | string | number): number =>
  a < b ? -1 : a > b ? 1 : 0;

/** Those that are looked for, in the order that was asked for. Prices are compared within what they are for. */
export function narrowed(models: readonly CatalogModel[], search: ModelSearch): readonly CatalogModel[] {
  const { kind, name = '', sort = 'name' } = search;
  const wanted = name.toLowerCase();
  const fitting = models.filter(
    (model) => (kind === undefined || model.modality === kind) && model.name.toLowerCase().includes(wanted),
  );
  return fitting.toSorted((a, b) => {
    const byName = order(a.name, b.name);
    switch (sort) {
      case 'name':
        return byName;
      case 'price':
        return (
          order(modalities.indexOf(a.modality), modalities.indexOf(b.modality)) ||
          order(mainPrice(a), mainPrice(b)) ||
          byName
        );
      case 'context':
        return order(b.contextLength ?? 0, a.contextLength ?? 0) || byName;
    }
  });
}

/** Code that calls the model as it is, to begin with; null where there is none to show. */
export function codeWishOf({ name, modality }: Pick<CatalogModel, 'name' | 'modality'>): CodeWish | null {
  switch (kindOf(modality)) {
    case 'chat':
      return { kind: 'chat', model: name, messages: [{ role: 'user', content: 'Tell me of the mill.' }] };
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
