import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseCents, parseUsd, proratePrice, signedUsd, usdNumberText, usdText } from './usd.ts';

describe('usdText', () => {
  test.each([
    ['0', '$0.00'],
    ['1', '$0.000000001'],
    ['10000000', '$0.01'],
    ['12500000000', '$12.50'],
    ['12345678901', '$12.345678901'],
    ['1234567000000000', '$1,234,567.00'],
    ['-250000000', '-$0.25'],
    ['-1', '-$0.000000001'],
  ])('%s nano-USD are %s', (nano, text) => expect(usdText(nano)).toBe(text));

  test('is exact: parsing the text returns the same amount', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), (nano) => {
        expect(parseUsd(usdText(nano).replace('-$', '-'))).toBe(nano);
        expect(parseUsd(usdText(nano))).toBe(nano);
      }),
    );
  });

  test('has a sign for changes of a balance', () => {
    expect(signedUsd('5000000000')).toBe('+$5.00');
    expect(signedUsd('-5000000000')).toBe('-$5.00');
    expect(signedUsd('0')).toBe('$0.00');
  });

  test('is exact for numbers of dollars', () => {
    expect(usdNumberText(2.49)).toBe('$2.49');
    expect(usdNumberText(0.1 + 0.2)).toBe('$0.30');
    expect(usdNumberText(0.000000001)).toBe('$0.000000001');
    expect(usdNumberText(1_000_000)).toBe('$1,000,000.00');
  });
});

describe('parseCents and parseUsd', () => {
  test.each([
    ['25', 2_500],
    ['$25', 2_500],
    ['25.5', 2_550],
    ['1,000.00', 100_000],
    ['0.01', 1],
    ['0', 0],
    [' 5 ', 500],
  ])('%s is %d cents', (text, cents) => expect(parseCents(text)).toBe(cents));

  test.each(['', 'five', '1.', '.5', '1,00', '0.001', '1e3', '1.2.3', '--5', '5 USD', '1.0000000001'])(
    '%j is not an amount in cents',
    (text) => expect(parseCents(text)).toBeNull(),
  );

  test('refuse fractions of a nano-USD instead of truncating', () => {
    expect(parseUsd('0.000000001')).toBe(1n);
    expect(parseUsd('0.0000000001')).toBeNull();
  });
});

test('proratePrice rounds up to at most one nano-USD', () => {
  expect(proratePrice(100n, 1n, 3n)).toBe(34n);
  expect(proratePrice(100n, 3n, 3n)).toBe(100n);
  expect(proratePrice(100n, 0n, 3n)).toBe(0n);
});
