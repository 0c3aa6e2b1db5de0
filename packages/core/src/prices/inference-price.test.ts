import { Fault } from '@millrace/platform/fault';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { acme, day, other, priceOf } from './prices.fixture.ts';
import {
  characterCost,
  freezeModelPrice,
  frozenModelPrice,
  imageCost,
  tokenCost,
  type FrozenModelPrice,
} from './inference-price.ts';
import type { ModelUnit, Price, PriceUnit } from './prices.ts';

const modelPrice = (
  modelUnit: ModelUnit,
  unit: PriceUnit,
  nano: bigint,
  fields: Partial<Price> = {},
): Price => priceOf({ kind: 'model', model: 'm', unit: modelUnit }, nano, { unit, ...fields });

const freeze = (prices: readonly Price[], mode: 'live' | 'test' = 'live'): FrozenModelPrice =>
  freezeModelPrice({ orgId: acme, mode, prices, now: day(10) }, 'm');

const prices = (fields: Partial<FrozenModelPrice> = {}): FrozenModelPrice => ({
  version: 1,
  model: 'm',
  promptNanoUsdPerMillion: '37500000',
  cachedPromptNanoUsdPerMillion: '9375000',
  completionNanoUsdPerMillion: '150000000',
  imageNanoUsd: '10000000',
  characterNanoUsd: '5000',
  priceIds: [],
  ...fields,
});

describe('freezeModelPrice', () => {
  it('converts all token prices exactly to prices per million', () => {
    const modelPrices = [
      modelPrice('prompt_token', 'token', 100n),
      modelPrice('cached_prompt_token', 'million_tokens', 12_500_001n),
      modelPrice('completion_token', 'million_tokens', 1n),
      modelPrice('image', 'image', 7n),
      modelPrice('character', 'character', 8n),
    ];
    expect(freeze(modelPrices)).toEqual({
      version: 1,
      model: 'm',
      promptNanoUsdPerMillion: '100000000',
      cachedPromptNanoUsdPerMillion: '12500001',
      completionNanoUsdPerMillion: '1',
      imageNanoUsd: '7',
      characterNanoUsd: '8',
      priceIds: modelPrices.map((price) => price.id),
    });
  });

  it('has defaults for images and characters, and none for tokens', () => {
    expect(freeze([])).toEqual({
      version: 1,
      model: 'm',
      promptNanoUsdPerMillion: null,
      cachedPromptNanoUsdPerMillion: null,
      completionNanoUsdPerMillion: null,
      imageNanoUsd: '10000000',
      characterNanoUsd: '5000',
      priceIds: [],
    });
  });

  it('charges cached tokens like other prompt tokens unless they have their own price', () => {
    const prompt = modelPrice('prompt_token', 'million_tokens', 5n);
    expect(freeze([prompt])).toMatchObject({ cachedPromptNanoUsdPerMillion: '5', priceIds: [prompt.id] });
    const cached = modelPrice('cached_prompt_token', 'million_tokens', 0n);
    expect(freeze([prompt, cached]).cachedPromptNanoUsdPerMillion).toBe('0');
  });

  it('uses the prices of the contract, the time and the model', () => {
    const listed = modelPrice('image', 'image', 1n);
    const contract = modelPrice('image', 'image', 2n, { orgId: acme });
    const theirs = modelPrice('image', 'image', 3n, { orgId: other });
    const ended = modelPrice('image', 'image', 4n, { orgId: acme, validFrom: day(1), validUntil: day(10) });
    expect(freeze([listed, contract, theirs, ended]).imageNanoUsd).toBe('2');
    expect(freeze([listed, theirs, ended]).imageNanoUsd).toBe('1');
    const context = { orgId: acme, mode: 'live', prices: [listed], now: day(10) } as const;
    expect(freezeModelPrice(context, 'n').imageNanoUsd).toBe('10000000');
  });

  it('is zero in test mode', () => {
    const free = freeze([modelPrice('prompt_token', 'token', 100n)], 'test');
    expect(free).toEqual(
      prices({
        promptNanoUsdPerMillion: '0',
        cachedPromptNanoUsdPerMillion: '0',
        completionNanoUsdPerMillion: '0',
        imageNanoUsd: '0',
        characterNanoUsd: '0',
      }),
    );
    expect(tokenCost(free, { prompt: 9, cached: 1, completion: 9 })).toBe(0n);
  });

  it('can be sent to a gateway as JSON, and invalid JSON is rejected', () => {
    const frozen = freeze([modelPrice('prompt_token', 'token', 100n)]);
    expect(frozenModelPrice.parse(JSON.parse(JSON.stringify(frozen)))).toEqual(frozen);
    for (const wrong of [{ imageNanoUsd: '-1' }, { imageNanoUsd: '01' }, { version: 2 }, { extra: 1 }]) {
      expect(frozenModelPrice.safeParse({ ...frozen, ...wrong }).success).toBe(false);
    }
  });
});

describe('tokenCost', () => {
  it.each([
    [{ prompt: 0, cached: 0, completion: 0 }, 0n],
    // 37.5, 9.375 and 150 nano-USD per token: only the sum is rounded, up.
    [{ prompt: 1, cached: 0, completion: 0 }, 38n],
    [{ prompt: 2, cached: 0, completion: 0 }, 75n],
    [{ prompt: 1, cached: 1, completion: 0 }, 10n],
    [{ prompt: 2, cached: 1, completion: 1 }, 197n],
    [{ prompt: 8, cached: 8, completion: 0 }, 75n],
    [{ prompt: 1_000_000, cached: 0, completion: 1_000_000 }, 187_500_000n],
  ])('of %j is %d', (tokens, cost) => {
    expect(tokenCost(prices(), tokens)).toBe(cost);
  });

  it('agrees with exact fractions for any counts and prices', () => {
    const amount = fc.bigInt({ min: 0n, max: 10n ** 12n });
    const count = fc.integer({ min: 0, max: 2_000_000 });
    fc.assert(
      fc.property(amount, amount, amount, count, count, count, (a, b, c, fresh, cached, completion) => {
        const price = prices({
          promptNanoUsdPerMillion: String(a),
          cachedPromptNanoUsdPerMillion: String(b),
          completionNanoUsdPerMillion: String(c),
        });
        const cost = tokenCost(price, { prompt: fresh + cached, cached, completion });
        const exact = a * BigInt(fresh) + b * BigInt(cached) + c * BigInt(completion);
        expect(cost * 1_000_000n >= exact && (cost - 1n) * 1_000_000n < exact).toBe(true);
      }),
    );
  });

  it('throws for tokens without a price, unless their count is zero', () => {
    const embedding = prices({ completionNanoUsdPerMillion: null });
    expect(tokenCost(embedding, { prompt: 2, cached: 0, completion: 0 })).toBe(75n);
    const costing = (): unknown => tokenCost(embedding, { prompt: 2, cached: 0, completion: 1 });
    expect(costing).toThrow(Fault);
    expect(costing).toThrow('The price list has no price for this combination.');
  });

  it('requires cached tokens to be part of the prompt', () => {
    expect(() => tokenCost(prices(), { prompt: 1, cached: 2, completion: 0 })).toThrow(
      'The 2 cached tokens exceed the 1 tokens of the prompt.',
    );
    expect(() => tokenCost(prices(), { prompt: -1, cached: -1, completion: 0 })).toThrow(RangeError);
    expect(() => tokenCost(prices(), { prompt: 1.5, cached: 0, completion: 0 })).toThrow(RangeError);
  });
});

describe('imageCost', () => {
  it.each([
    [{ width: 1_024, height: 1_024, steps: 25, count: 1 }, 10_000_000n],
    [{ width: 512, height: 1_024, steps: 25, count: 1 }, 5_000_000n],
    [{ width: 1_024, height: 512, steps: 50, count: 3 }, 30_000_000n],
    // 10 000 000 × 128 × 128 / (1024 × 1024) / 25 = 6250
    [{ width: 128, height: 128, steps: 1, count: 1 }, 6_250n],
    // 10 000 000 × 129 × 131 × 7 / 26 214 400 = 45 125.1…
    [{ width: 129, height: 131, steps: 7, count: 1 }, 45_126n],
    [{ width: 129, height: 131, steps: 7, count: 2 }, 90_251n],
  ])('of %j is %d', (size, cost) => {
    expect(imageCost(prices(), size)).toBe(cost);
  });

  it('rounds up once for any number of images', () => {
    const size = fc.record({
      width: fc.integer({ min: 128, max: 2_496 }),
      height: fc.integer({ min: 128, max: 2_496 }),
      steps: fc.integer({ min: 1, max: 1_000 }),
      count: fc.integer({ min: 1, max: 10 }),
    });
    fc.assert(
      fc.property(size, fc.bigInt({ min: 0n, max: 10n ** 10n }), (image, nano) => {
        const cost = imageCost(prices({ imageNanoUsd: String(nano) }), image);
        const exact = nano * BigInt(image.width * image.height) * BigInt(image.steps * image.count);
        expect(cost * 26_214_400n >= exact && (cost - 1n) * 26_214_400n < exact).toBe(true);
      }),
    );
  });

  it.each([0.5, -1, Number.NaN, 2 ** 60])('rejects a size of %d', (width) => {
    expect(() => imageCost(prices(), { width, height: 1, steps: 1, count: 1 })).toThrow(
      'Sizes and counts must be whole numbers',
    );
  });
});

describe('characterCost', () => {
  it('is the price times the count', () => {
    expect(characterCost(prices(), 0)).toBe(0n);
    expect(characterCost(prices(), 1)).toBe(5_000n);
    expect(characterCost(prices({ characterNanoUsd: '7' }), 1_001)).toBe(7_007n);
    expect(() => characterCost(prices(), -1)).toThrow(RangeError);
  });
});
