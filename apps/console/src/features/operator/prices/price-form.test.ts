import { describe, expect, it } from 'vitest';
import {
  emptyPriceForm,
  currentPrice,
  priceText,
  parsePrice,
  toPriceSubject,
  subjectText,
  priceUnit,
  type Price,
} from './price-form.ts';

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

describe('priceText and subjectText', () => {
  it('are exact to the nano-USD and name the subject', () => {
    expect(priceText(price({}))).toBe('$2.49 per GPU-hour');
    expect(priceText(price({ priceNanoUsd: '1', unit: 'gb_hour' }))).toBe('$0.000000001 per GB-hour');
    expect(subjectText(gpu)).toBe('h100, virtual machine, all regions');
    expect(subjectText({ ...gpu, region: 'eu-north-2', networkType: 'infiniband' })).toBe(
      'h100, virtual machine, eu-north-2, infiniband',
    );
    expect(subjectText({ kind: 'model', model: 'qwen', unit: 'prompt_token' })).toBe('qwen, prompt token');
  });
});

describe('price form', () => {
  it('is converted to the subject and its unit', () => {
    expect(toPriceSubject(emptyPriceForm)).toEqual({ ...gpu, networkType: null });
    expect(priceUnit(emptyPriceForm)).toBe('gpu_hour');
    expect(priceUnit({ kind: 'disk', modelUnit: 'image' })).toBe('gb_hour');
    expect(priceUnit({ kind: 'model', modelUnit: 'completion_token' })).toBe('million_tokens');
    expect(priceUnit({ kind: 'model', modelUnit: 'image' })).toBe('image');
  });

  it.each([
    ['2.49', { nano: 2_490_000_000n }],
    ['$0.000000001', { nano: 1n }],
    ['0', { nano: 0n }],
    ['0.0000000001', { issue: expect.stringContaining('nine decimals') }],
    ['', { issue: expect.stringContaining('dollars') }],
    ['-1', { issue: 'Enter a price of zero or more.' }],
  ])('parses %j without rounding', (amount, read) => {
    expect(parsePrice({ ...emptyPriceForm, amount })).toEqual(read);
  });

  it('finds the list price that it would replace, not a contract price', () => {
    const own = price({ id: 'prc_list' });
    const contract = price({ id: 'prc_contract', organisationId: 'org_1' });
    expect(currentPrice([contract, own], emptyPriceForm)?.id).toBe('prc_list');
    expect(currentPrice([contract], emptyPriceForm)).toBeUndefined();
    expect(currentPrice([own], { ...emptyPriceForm, region: 'eu-north-2' })).toBeUndefined();
  });
});
