import { describe, expect, it } from 'vitest';
import { acme, day, other, priceOf } from './prices.fixture.ts';
import { maxRecentCost, type RequestSize } from './cost-bound.ts';
import type { ModelUnit, Price } from './prices.ts';

const model = 'maker/chat';
const now = day(30);
const of = (unit: ModelUnit, nano: bigint, fields: Partial<Price> = {}): Price =>
  priceOf({ kind: 'model', model, unit }, nano, { unit: 'token', ...fields });
const size = (fields: Partial<RequestSize>): RequestSize => ({
  promptTokens: 0n,
  completionTokens: 0n,
  imagePixelSteps: 0n,
  characters: 0n,
  ...fields,
});
const prompt = size({ promptTokens: 10n });
const bound = (prices: readonly Price[], of_ = prompt): bigint =>
  maxRecentCost(prices, { orgId: acme, model, now }, of_);

describe('maxRecentCost', () => {
  it('adds prompt and completion, and uses the higher of the fresh and cached token price', () => {
    const prices = [of('prompt_token', 3n), of('completion_token', 7n), of('cached_prompt_token', 5n)];
    expect(bound(prices, size({ promptTokens: 10n, completionTokens: 2n }))).toBe(64n);
  });

  it('rounds up, and uses default prices for images and characters', () => {
    const prices = [of('prompt_token', 1n, { unit: 'million_tokens' })];
    expect(bound(prices)).toBe(1n);
    expect(bound([], size({ imagePixelSteps: 1_024n * 1_024n * 25n, characters: 2n }))).toBe(10_010_000n);
  });

  it('is zero without a token price', () => {
    expect(bound([])).toBe(0n);
  });

  it.each([
    ['a version replaced less than a week ago', of('prompt_token', 9n, { validFrom: day(1) }), day(29), 90n],
    ['no version replaced more than a week ago', of('prompt_token', 9n, { validFrom: day(1) }), day(20), 30n],
    ['a price that starts within an hour', of('prompt_token', 9n, { validFrom: day(30.01) }), day(2), 90n],
    ['no price that starts later', of('prompt_token', 9n, { validFrom: day(31) }), day(2), 30n],
    ['no contract of another organisation', of('prompt_token', 9n, { orgId: other }), day(2), 30n],
    ['its own contract, also above the list', of('prompt_token', 9n, { orgId: acme }), day(2), 90n],
    ['its own contract, also below the list', of('prompt_token', 2n, { orgId: acme }), day(2), 20n],
  ])('counts %s', (_what, price, replacedFrom, expected) => {
    expect(bound([price, of('prompt_token', 3n, { validFrom: replacedFrom })])).toBe(expected);
  });

  it('can exceed the range of the ledger', () => {
    const prices = [of('prompt_token', 10n ** 9n)];
    expect(bound(prices, size({ promptTokens: 2n ** 40n }))).toBe(10n ** 9n * 2n ** 40n);
  });
});
