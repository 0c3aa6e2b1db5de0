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

describe('a price in words', () => {
  it('is exact to the last nano-dollar and says for what', () => {
    expect(priceText(price({}))).toBe('$2.49 for one GPU and hour');
    expect(priceText(price({ priceNanoUsd: '1', unit: 'gb_hour' }))).toBe('$0.000000001 for one GB and hour');
    expect(subjectText(gpu)).toBe('h100, virtual machine, every region');
    expect(subjectText({ ...gpu, region: 'eu-north-2', networkType: 'infiniband' })).toBe(
      'h100, virtual machine, eu-north-2, infiniband',
    );
    expect(subjectText({ kind: 'model', model: 'qwen', unit: 'prompt_token' })).toBe('qwen, prompt token');
  });
});

describe('a form of a price', () => {
  it('becomes the subject and the unit that fits it', () => {
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
    ['', { issue: expect.stringContaining('amount') }],
    ['-1', { issue: 'A price is not below zero.' }],
  ])('reads %j without rounding', (amount, read) => {
    expect(parsePrice({ ...emptyPriceForm, amount })).toEqual(read);
  });

  it('finds the list price that it would replace, not that of a contract', () => {
    const own = price({ id: 'prc_list' });
    const contract = price({ id: 'prc_contract', organisationId: 'org_1' });
    expect(currentPrice([contract, own], emptyPriceForm)?.id).toBe('prc_list');
    expect(currentPrice([contract], emptyPriceForm)).toBeUndefined();
    expect(currentPrice([own], { ...emptyPriceForm, region: 'eu-north-2' })).toBeUndefined();
  });
});
