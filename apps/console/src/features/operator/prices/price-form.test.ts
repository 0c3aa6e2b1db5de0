import { describe, expect, it } from 'vitest';
import {
  currentPrice,
  emptyPriceForm,
  monthlyText,
  parsePrices,
  priceText,
  subjectText,
  toPriceSubject,
  withCurrentModelPrices,
  type Price,
  type PriceForm,
} from './price-form.ts';
import { presetGpuTypes, presetsFor } from './price-presets.ts';

const gpu = { kind: 'gpu', gpuType: 'h100', machineType: 'virtual-machine', region: null } as const;
const price = (over: Partial<Price>): Price => ({
  id: 'prc_1',
  organisationId: null,
  subject: gpu,
  unit: 'gpu_hour',
  priceNanoUsd: '2490000000',
  validFrom: '2026-08-01T12:00:00.000Z',
  validUntil: null,
  createdAt: '2026-08-01T12:00:00.000Z',
  ...over,
});
const modelForm: PriceForm = { ...emptyPriceForm, kind: 'model', model: 'qwen' };

describe('priceText and subjectText', () => {
  it('are exact to the nano-USD and name the subject', () => {
    expect(priceText(price({}))).toBe('$2.49 per GPU-hour');
    expect(priceText(price({ priceNanoUsd: '1', unit: 'gb_hour' }))).toBe('$0.000000001 per GB-hour');
    expect(subjectText(gpu)).toBe('H100, virtual machine, all regions');
    expect(subjectText({ ...gpu, region: 'eu-north-2', networkType: 'infiniband' })).toBe(
      'H100, virtual machine, eu-north-2, infiniband',
    );
    expect(subjectText({ kind: 'model', model: 'qwen', unit: 'prompt_token' })).toBe('qwen, input');
  });

  it('show storage prices per month of 730 hours too', () => {
    expect(monthlyText({ priceNanoUsd: '136986', unit: 'gb_hour' })).toBe('$0.10 per GB-month');
    expect(monthlyText({ priceNanoUsd: '2490000000', unit: 'gpu_hour' })).toBeNull();
  });

  it('show a price of one token per million tokens', () => {
    expect(priceText({ priceNanoUsd: '150', unit: 'token' })).toBe('$0.15 per million tokens');
    expect(priceText({ priceNanoUsd: '150000000', unit: 'million_tokens' })).toBe('$0.15 per million tokens');
  });
});

describe('parsePrices', () => {
  it.each([
    ['2.49', '2490000000'],
    ['$0.000000001', '1'],
    ['0', '0'],
  ])('parses %j without rounding', (amount, priceNanoUsd) => {
    expect(parsePrices({ ...emptyPriceForm, amount })).toEqual({
      prices: [{ subject: { ...gpu, networkType: null }, unit: 'gpu_hour', priceNanoUsd }],
    });
  });

  it.each([
    ['0.0000000001', 'nine decimals'],
    ['', 'dollars'],
    ['-1', 'zero or more'],
  ])('refuses %j', (amount, words) => {
    expect(parsePrices({ ...emptyPriceForm, amount })).toEqual({ issue: expect.stringContaining(words) });
  });

  it('makes one price per million tokens for each unit of a text model', () => {
    const modelAmounts = { prompt_token: '0.15', completion_token: '0.6', image: '9' };
    expect(parsePrices({ ...modelForm, modelAmounts }, 'chat')).toEqual({
      prices: [
        {
          subject: { kind: 'model', model: 'qwen', unit: 'prompt_token' },
          unit: 'million_tokens',
          priceNanoUsd: '150000000',
        },
        {
          subject: { kind: 'model', model: 'qwen', unit: 'completion_token' },
          unit: 'million_tokens',
          priceNanoUsd: '600000000',
        },
      ],
    });
  });

  it('requires a model and every unit except cached input', () => {
    expect(parsePrices({ ...modelForm, model: '' })).toEqual({ issue: 'Choose a model.' });
    expect(parsePrices({ ...modelForm, modelAmounts: { prompt_token: '1' } })).toEqual({
      issue: expect.stringContaining('Price of output'),
    });
    expect(parsePrices({ ...modelForm, modelAmounts: { image: '0.02' } }, 'image')).toMatchObject({
      prices: [{ unit: 'image', priceNanoUsd: '20000000' }],
    });
  });
});

describe('currentPrice and withCurrentModelPrices', () => {
  it('find the list price that would be replaced, not a contract price', () => {
    const own = price({ id: 'prc_list' });
    const contract = price({ id: 'prc_contract', organisationId: 'org_1' });
    const subject = toPriceSubject(emptyPriceForm);
    expect(currentPrice([contract, own], subject)?.id).toBe('prc_list');
    expect(currentPrice([contract], subject)).toBeUndefined();
    expect(currentPrice([own], toPriceSubject({ ...emptyPriceForm, region: 'eu-north-2' }))).toBeUndefined();
  });

  it('fill in the prices of a model per million tokens', () => {
    const subject = { kind: 'model', model: 'qwen', unit: 'prompt_token' } as const;
    const perToken = price({ subject, unit: 'token', priceNanoUsd: '150' });
    expect(withCurrentModelPrices(modelForm, [perToken]).modelAmounts).toEqual({
      prompt_token: '0.15',
    });
  });
});

describe('presets', () => {
  it.each([
    ['gpu', 'chat'],
    ['volume', 'chat'],
    ['disk', 'chat'],
    ['model', 'chat'],
    ['model', 'image'],
    ['model', 'audio'],
  ] as const)('of %s %s fill in a valid form', (kind, modality) => {
    const presets = presetsFor(kind, modality);
    expect(presets.length).toBeGreaterThan(0);
    for (const { change } of presets) {
      expect(parsePrices({ ...modelForm, kind, ...change }, modality)).toHaveProperty('prices');
    }
  });

  it('exist for every GPU type that is sold', () => {
    expect(presetGpuTypes).toEqual(['h100', 'h200', 'b200']);
  });
});
