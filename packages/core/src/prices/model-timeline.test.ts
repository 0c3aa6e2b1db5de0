import { nanoUsd } from '@millrace/platform/money';
import { testIds } from '@millrace/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { freezeModelPrice } from './inference-price.ts';
import { modelTimelines, type TimedModelPrice } from './model-timeline.ts';
import type { ModelUnit, Price } from './prices.ts';

const [acme, other] = [testIds.next('org'), testIds.next('org')];
const model = 'maker/chat';
const atMs = (ms: number): Date => new Date(ms);

function priceOf(fields: Partial<Price> & { readonly unit_?: ModelUnit; readonly fromMs?: number }): Price {
  const { unit_ = 'prompt_token', fromMs = 0, ...rest } = fields;
  return {
    id: testIds.next('prc'),
    orgId: null,
    subject: { kind: 'model', model, unit: unit_ },
    unit: 'token',
    price: nanoUsd(100n),
    validFrom: atMs(fromMs),
    validUntil: null,
    createdAt: atMs(0),
    ...rest,
  };
}

const countsAt = (timeline: readonly TimedModelPrice[], ms: number) =>
  timeline.filter(
    ({ fromMs, untilMs }) => (fromMs === null || fromMs <= ms) && (untilMs === null || ms < untilMs),
  );

describe('modelTimelines', () => {
  it('has one entry if no change is scheduled', () => {
    const { list, contracts } = modelTimelines([priceOf({})], model, atMs(1_000));
    expect(list).toHaveLength(1);
    expect(list[0]).toMatchObject({
      fromMs: null,
      untilMs: null,
      price: { promptNanoUsdPerMillion: '100000000' },
    });
    expect(contracts).toEqual({});
  });

  it('uses list prices for everything that a contract leaves open', () => {
    const prices = [
      priceOf({ price: nanoUsd(100n) }),
      priceOf({ unit_: 'completion_token', price: nanoUsd(300n) }),
      priceOf({ orgId: acme, price: nanoUsd(70n) }),
    ];
    const { contracts } = modelTimelines(prices, model, atMs(0));
    expect(Object.keys(contracts)).toEqual([acme]);
    expect(contracts[acme]?.[0]?.price).toMatchObject({
      promptNanoUsdPerMillion: '70000000',
      completionNanoUsdPerMillion: '300000000',
    });
  });

  it('covers every instant exactly once, with the resolved price for every organisation', () => {
    const anyPrice = fc
      .record({
        orgId: fc.constantFrom(null, acme, other),
        unit_: fc.constantFrom<ModelUnit>('prompt_token', 'completion_token', 'cached_prompt_token'),
        price: fc.integer({ min: 0, max: 1_000 }).map((value) => nanoUsd(BigInt(value))),
        fromMs: fc.integer({ min: 0, max: 50 }),
        lastsMs: fc.option(fc.integer({ min: 1, max: 30 })),
      })
      .map(({ lastsMs, ...fields }) =>
        priceOf({ ...fields, validUntil: lastsMs === null ? null : atMs(fields.fromMs + lastsMs) }),
      );
    fc.assert(
      fc.property(
        fc.array(anyPrice, { maxLength: 12 }),
        fc.integer({ min: 0, max: 40 }),
        fc.integer({ min: 0, max: 60 }),
        (prices, nowMs, laterMs) => {
          const { list, contracts } = modelTimelines(prices, model, atMs(nowMs));
          const ms = nowMs + laterMs;
          for (const orgId of [null, acme, other]) {
            const timeline = orgId === null ? list : (contracts[orgId] ?? list);
            const counting = countsAt(timeline, ms);
            const expected = freezeModelPrice({ orgId, mode: 'live', prices, now: atMs(ms) }, model);
            expect(counting.map(({ price }) => price)).toEqual([expected]);
          }
        },
      ),
    );
  });
});
