import { describe, expect, it } from 'vitest';
import { lineTexts, meanPrice, paymentText, quantityText, sumOfLines } from './invoice.ts';

it('sumOfLines adds up to the nano-USD, including credits', () => {
  const line = (amountNanoUsd: string) => ({
    description: '',
    cause: null,
    quantity: '1',
    unit: 'h',
    amountNanoUsd,
  });
  expect(sumOfLines({ lines: [line('9007199254740993'), line('-1')] })).toBe(9_007_199_254_740_992n);
});

describe('paymentText', () => {
  it('says that nothing is due on an issued invoice', () => {
    expect(paymentText({ status: 'final', totalNanoUsd: '5' })).toBe('paid from your balance');
    expect(paymentText({ status: 'final', totalNanoUsd: '-5' })).toBe('added to your balance');
    expect(paymentText({ status: 'draft', totalNanoUsd: '5' })).toBe('not issued yet');
  });
});

describe('lineTexts', () => {
  const description = 'Rental 19: GPU time';
  const cause = { kind: 'rental', id: '19' };

  it('names the resource and keeps its number', () => {
    expect(lineTexts({ description, cause }, () => 'train')).toEqual({
      title: 'train: GPU time',
      detail: 'Rental 19',
    });
  });

  it('keeps the description if the name is not known', () => {
    expect(lineTexts({ description, cause }, () => null)).toEqual({ title: description, detail: null });
    expect(
      lineTexts({ description: '7 further rentals: GPU time', cause: null }, () => 'train').detail,
    ).toBeNull();
  });
});

it.each([
  ['122880.5', '122,880.5 GB-hours'],
  ['744', '744 GB-hours'],
  ['1234567', '1,234,567 GB-hours'],
  ['0.123456789', '0.123456789 GB-hours'],
])('quantityText separates the thousands of %s', (quantity, text) => {
  expect(quantityText({ quantity, unit: 'GB-hours' })).toBe(text);
});

describe('meanPrice', () => {
  it('is the amount for the quantity that the price is set for', () => {
    expect(meanPrice({ quantity: '2.5', unit: 'GPU-hours', amountNanoUsd: '4975000001' })).toEqual({
      price: '$1.99',
      per: 'per GPU-hour',
    });
    expect(meanPrice({ quantity: '720', unit: 'GB-hours', amountNanoUsd: '100000000' })?.price).toBe('$0.10');
    expect(meanPrice({ quantity: '500', unit: 'tokens', amountNanoUsd: '25000' })?.price).toBe('$0.05');
  });

  it('is null for lines without a quantity, such as refunds', () => {
    expect(meanPrice({ quantity: '1', unit: 'items', amountNanoUsd: '-5' })).toBeNull();
    expect(meanPrice({ quantity: '0', unit: 'tokens', amountNanoUsd: '0' })).toBeNull();
  });
});
