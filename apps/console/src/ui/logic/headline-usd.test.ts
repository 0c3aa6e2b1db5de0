import fc from 'fast-check';
import { expect, test } from 'vitest';
import { headlineUsd } from './headline-usd.ts';

test('a headline is rounded to cents and keeps the exact amount', () => {
  expect(headlineUsd(248_749_999_999n)).toEqual({ text: '$248.75', exact: '$248.749999999' });
  expect(headlineUsd('-1005000001')).toEqual({ text: '-$1.01', exact: '-$1.005000001' });
  expect(headlineUsd(1_234_567_894_000_000n)).toEqual({ text: '$1,234,567.89', exact: '$1,234,567.894' });
});

test('a headline that is already in cents has no other exact amount', () => {
  expect(headlineUsd(0n)).toEqual({ text: '$0.00', exact: null });
  expect(headlineUsd(100_000_000_000n)).toEqual({ text: '$100.00', exact: null });
  expect(headlineUsd(5_000_000_000n, { signed: true })).toEqual({ text: '+$5.00', exact: null });
});

test('an amount below half a cent does not read as zero', () => {
  expect(headlineUsd(61_900n).text).toBe('< $0.01');
  expect(headlineUsd(5_000_000n).text).toBe('$0.01');
});

test('a headline differs from the exact amount by at most half a cent', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), (nano) => {
      const { text } = headlineUsd(nano);
      if (text.startsWith('<')) return;
      expect(text).toMatch(/^-?\$[\d,]+\.\d\d$/);
      const cents = BigInt(text.replaceAll(/[$,.]/g, ''));
      const difference = cents * 10_000_000n - nano;
      expect(difference < 0n ? -difference : difference).toBeLessThanOrEqual(5_000_000n);
    }),
  );
});
