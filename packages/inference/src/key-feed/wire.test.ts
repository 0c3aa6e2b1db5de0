import { contract } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { frozenPrice, modelOf } from './key-feed.fixture.ts';
import { toWireModelList, toWireModelPrice } from './wire.ts';

const { listModels, getModelPrice } = contract.operations;

describe('toWireModelList', () => {
  it('matches the contract and leaves out models that the key must not use', () => {
    const models = [modelOf({ name: 'maker/a' }), modelOf({ name: 'other/b', modality: 'image' })];
    const list = toWireModelList(models, { models: ['maker/*'] });
    expect(listModels.response.schema.parse(list)).toEqual(list);
    expect(list.data.map(({ id }) => id)).toEqual(['maker/a']);
    expect(list.data[0]).toMatchObject({ created: 1_780_000_000, owned_by: 'maker', context_length: 8_192 });
  });
});

describe('toWireModelPrice', () => {
  it.each([
    ['chat', [200_000_000, 100_000_000, 600_000_000, null, null]],
    ['completion', [200_000_000, 100_000_000, 600_000_000, null, null]],
    ['image', [null, null, null, 10_000_000, null]],
    ['audio', [null, null, null, null, 5_000]],
  ] as const)('gives %s models the prices of their unit', (modality, expected) => {
    const price = toWireModelPrice(modelOf({ modality }), frozenPrice(), null);
    expect(getModelPrice.response.schema.parse(price)).toEqual(price);
    expect([
      price.prompt_nano_usd_per_million_tokens,
      price.cached_prompt_nano_usd_per_million_tokens,
      price.completion_nano_usd_per_million_tokens,
      price.image_nano_usd,
      price.character_nano_usd,
    ]).toEqual(expected);
  });

  it('is exact up to the highest price of the price list', () => {
    const price = toWireModelPrice(
      modelOf(),
      frozenPrice({ promptNanoUsdPerMillion: '1000000000000000' }),
      null,
    );
    expect(price.prompt_nano_usd_per_million_tokens).toBe(1e15);
  });

  it('adds the price of live mode, unless the model has none', () => {
    const none = {
      promptNanoUsdPerMillion: null,
      cachedPromptNanoUsdPerMillion: null,
      completionNanoUsdPerMillion: null,
    };
    const priced = toWireModelPrice(modelOf(), frozenPrice(), frozenPrice());
    expect(getModelPrice.response.schema.parse(priced)).toEqual(priced);
    expect(priced.live).toMatchObject({ completion_nano_usd_per_million_tokens: 600_000_000 });
    expect(toWireModelPrice(modelOf(), frozenPrice(), frozenPrice(none))).not.toHaveProperty('live');
  });
});
