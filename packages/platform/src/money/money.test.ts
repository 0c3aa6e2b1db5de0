import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addExact,
  addUsd,
  affordableMs,
  allocate,
  divideHalfEven,
  divideRoundDown,
  divideRoundUp,
  formatUsd,
  fromCents,
  fromUsdNumber,
  hourlyCharge,
  meteredTotal,
  nanoUsd,
  negateUsd,
  parseNanoUsd,
  parseUsd,
  roundExact,
  subtractUsd,
  timesUsd,
  toCents,
  tokenCharge,
  toNearestUsdNumber,
  toUsdNumber,
  type NanoUsd,
} from './index.ts';

const largest = 2n ** 63n - 1n;
const exactLimit = 2n ** 23n * 1_000_000_000n;
const someAmount = fc.bigInt({ min: -largest, max: largest }).map(nanoUsd);
const exactAmount = fc.bigInt({ min: -exactLimit + 1n, max: exactLimit - 1n }).map(nanoUsd);
const smallAmount = fc.bigInt({ min: 0n, max: 10n ** 15n }).map(nanoUsd);

describe('NanoUsd', () => {
  it('throws for an amount that does not fit a ledger column, in every operation', () => {
    expect([nanoUsd(largest), nanoUsd(-largest - 1n)]).toEqual([largest, -largest - 1n]);
    expect(() => nanoUsd(largest + 1n)).toThrow('out of the range of a ledger column');
    expect(() => nanoUsd(-largest - 2n)).toThrow(RangeError);
    expect(() => addUsd(nanoUsd(largest), nanoUsd(1n))).toThrow(RangeError);
    expect(() => subtractUsd(nanoUsd(-largest), nanoUsd(2n))).toThrow(RangeError);
    expect(() => timesUsd(nanoUsd(largest), 2n)).toThrow(RangeError);
    expect(() => negateUsd(nanoUsd(-largest - 1n))).toThrow(RangeError);
  });

  it('gives zero when added to its negation', () => {
    fc.assert(
      fc.property(someAmount, (amount) => {
        expect(addUsd(amount, negateUsd(amount))).toBe(0n);
      }),
    );
    expect(negateUsd(nanoUsd(5n))).toBe(-5n);
  });

  it('survives formatting and parsing exactly', () => {
    fc.assert(
      fc.property(someAmount, (amount) => {
        expect(parseUsd(formatUsd(amount))).toBe(amount);
        expect(parseNanoUsd(String(amount))).toBe(amount);
      }),
    );
  });

  it.each([
    ['0', 0n],
    ['12.5', 12_500_000_000n],
    ['-0.000000001', -1n],
    ['9223372036.854775807', largest],
  ])('parses %s', (text, nano) => {
    expect(parseUsd(text)).toBe(nano);
  });

  it.each([
    '',
    ' 1',
    '1 ',
    '+1',
    '01',
    '.5',
    '1.',
    '1e3',
    '0x10',
    'NaN',
    '1,5',
    '0.0000000001',
    '9223372036.854775808',
    '99999999999999999999',
    '--1',
    '1.2.3',
    '１',
  ])('does not parse %j', (text) => {
    expect(parseUsd(text)).toBeNull();
  });

  it('does not parse nano-USD that are not a plain whole number', () => {
    for (const text of ['', '-0', '01', '1.0', '1e9', ' 1', '9223372036854775808', '-9223372036854775809']) {
      expect(parseNanoUsd(text)).toBeNull();
    }
    expect(parseNanoUsd('-9223372036854775808')).toBe(-largest - 1n);
  });

  it.each<[bigint, string]>([
    [0n, '0.00'],
    [1n, '0.000000001'],
    [-1_500_000_000n, '-1.50'],
    [1_024_375_000n, '1.024375'],
    [100_000_000_000n, '100.00'],
  ])('formats %s nano-USD as %s', (nano, text) => {
    expect(formatUsd(nanoUsd(nano))).toBe(text);
  });
});

describe('toUsdNumber and fromUsdNumber', () => {
  it('are exact to nine decimals below 2^23 dollars, in both directions', () => {
    fc.assert(
      fc.property(exactAmount, (amount) => {
        const overTheWire = JSON.parse(JSON.stringify(toUsdNumber(amount))) as number;
        expect(fromUsdNumber(overTheWire)).toBe(amount);
      }),
      { numRuns: 2_000 },
    );
  });

  it('are exact at the limit, where doubles are furthest apart', () => {
    for (let below = 1n; below <= 2_000n; below += 1n) {
      const amount = nanoUsd(exactLimit - below);
      expect(fromUsdNumber(toUsdNumber(amount))).toBe(amount);
    }
  });

  it('refuse larger amounts, which only toNearestUsdNumber converts', () => {
    for (const amount of [nanoUsd(exactLimit), nanoUsd(-exactLimit)]) {
      expect(() => toUsdNumber(amount)).toThrow('send it as text');
    }
    expect([fromUsdNumber(2 ** 23), fromUsdNumber(-(2 ** 23))]).toEqual([null, null]);
    expect(toNearestUsdNumber(nanoUsd(exactLimit))).toBe(2 ** 23);
  });

  it.each([
    [1e-9, 1n],
    [-2.5e-8, -25n],
    [1.25e-7, 125n],
    [-0, 0n],
    [0.1, 100_000_000n],
    [3.98, 3_980_000_000n],
  ])('convert %d', (usd, nano) => {
    expect(fromUsdNumber(usd)).toBe(nano);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 1e-10, 1.0000000001, 1e21, 1e300, 0.1 + 0.2])(
    'refuse %d',
    (usd) => {
      expect(fromUsdNumber(usd)).toBeNull();
    },
  );
});

describe('rounding', () => {
  const numerator = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });
  const denominator = fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }).filter((value) => value !== 0n);
  const atMost = (left: bigint, right: bigint, sign: bigint): boolean => left * sign <= right * sign;

  it('down and up enclose the true quotient and differ by at most one', () => {
    fc.assert(
      fc.property(numerator, denominator, (n, d) => {
        const down = divideRoundDown(n, d);
        const up = divideRoundUp(n, d);
        const sign = d < 0n ? -1n : 1n;
        expect(atMost(down * d, n, sign) && atMost(n, up * d, sign)).toBe(true);
        expect(up - down).toBe(down * d === n ? 0n : 1n);
      }),
    );
  });

  it('half even returns the nearest value, and the even one of two equally near', () => {
    fc.assert(
      fc.property(numerator, denominator, (n, d) => {
        const doubled = 2n * (divideHalfEven(n, d) * d - n);
        const size = d < 0n ? -d : d;
        expect(doubled <= size && doubled >= -size).toBe(true);
        if (doubled === size || doubled === -size) expect(divideHalfEven(n, d) % 2n).toBe(0n);
      }),
    );
    expect([1n, 3n, 5n, -1n, -3n].map((n) => divideHalfEven(n, 2n))).toEqual([0n, 2n, 2n, 0n, -2n]);
  });

  it('throws for a division by zero', () => {
    for (const divide of [divideRoundDown, divideRoundUp, divideHalfEven]) {
      expect(() => divide(1n, 0n)).toThrow('Cannot divide by zero.');
    }
  });
});

describe('charges', () => {
  it('do not depend on how the time is divided, because only the sum is rounded', () => {
    fc.assert(
      fc.property(
        smallAmount,
        fc.array(fc.integer({ min: 0, max: 10_000_000 }), { minLength: 1, maxLength: 20 }),
        (price, pieces) => {
          const whole = hourlyCharge(
            price,
            pieces.reduce((sum, ms) => sum + ms, 0),
          );
          const summed = pieces.map((ms) => hourlyCharge(price, ms)).reduce(addExact);
          expect(roundExact(summed, 'up')).toBe(roundExact(whole, 'up'));
        },
      ),
    );
  });

  it('add fractions with different denominators exactly', () => {
    const sum = addExact(hourlyCharge(nanoUsd(1n), 1), tokenCharge(nanoUsd(1n), 1));
    expect(sum.numerator * 3_600_000n * 1_000_000n).toBe(4_600_000n * sum.denominator);
  });

  it('keep the denominator of charges of one kind, so that it does not grow', () => {
    const charge = hourlyCharge(nanoUsd(7n), 1);
    expect(addExact(charge, charge)).toEqual({ numerator: 14n, denominator: charge.denominator });
  });

  it('price an hour, a millisecond and a million tokens according to the price list', () => {
    const price = nanoUsd(3_980_000_000n);
    expect(roundExact(hourlyCharge(price, 3_600_000), 'down')).toBe(price);
    expect(roundExact(hourlyCharge(price, 3_600_000, 8n), 'down')).toBe(price * 8n);
    expect(roundExact(hourlyCharge(price, 1), 'down')).toBe(1_105n);
    expect(roundExact(hourlyCharge(price, 1), 'up')).toBe(1_106n);
    expect(roundExact(tokenCharge(price, 1_000_000n), 'half even')).toBe(price);
  });

  it('throw for durations and counts that are negative or not whole', () => {
    for (const wrong of [0.5, -1, Number.NaN, 2 ** 60]) {
      const what = wrong === -1 ? 'must not be negative' : 'must be a whole number';
      expect(() => hourlyCharge(nanoUsd(1n), wrong)).toThrow(`durationMs ${what}, but is ${wrong}.`);
      expect(() => tokenCharge(nanoUsd(1n), wrong)).toThrow(`tokens ${what}, but is ${wrong}.`);
    }
  });

  it('never exceed the budget during affordableMs, but do one millisecond later', () => {
    fc.assert(
      fc.property(smallAmount, fc.bigInt({ min: 1n, max: 10n ** 12n }).map(nanoUsd), (budget, price) => {
        const ms = affordableMs(budget, price) ?? expect.fail('a price above zero has a limit');
        expect(roundExact(hourlyCharge(price, ms), 'up') <= budget).toBe(true);
        expect(hourlyCharge(price, ms + 1n).numerator > budget * 3_600_000n).toBe(true);
      }),
    );
    expect(affordableMs(nanoUsd(5n), nanoUsd(0n))).toBeNull();
    expect(affordableMs(nanoUsd(-5n), nanoUsd(1n))).toBe(0n);
  });
});

describe('meteredTotal', () => {
  it('rounds down once, over the whole time of the meter', () => {
    expect(meteredTotal(nanoUsd(3_600_000n), 1)).toBe(1n);
    expect(meteredTotal(nanoUsd(3_599_999n), 1)).toBe(0n);
    expect(meteredTotal(nanoUsd(3_600_001n), 1)).toBe(1n);
    expect(meteredTotal(nanoUsd(7n), 3_600_000n)).toBe(7n);
    expect(meteredTotal(nanoUsd(0n), 3_600_000)).toBe(0n);
    expect(meteredTotal(nanoUsd(3_980_000_000n), 90 * 60_000)).toBe(5_970_000_000n);
  });

  it('equals the sum of postings at any instants', () => {
    fc.assert(
      fc.property(
        smallAmount,
        fc.array(fc.integer({ min: 0, max: 10_000_000 }), { minLength: 1, maxLength: 20 }),
        (rate, steps) => {
          let elapsedMs = 0;
          let posted = 0n;
          for (const stepMs of steps) {
            elapsedMs += stepMs;
            const due = meteredTotal(rate, elapsedMs) - posted;
            expect(due >= 0n).toBe(true);
            posted += due;
          }
          expect(posted).toBe(meteredTotal(rate, elapsedMs));
        },
      ),
    );
  });

  it('throws for a negative time and for a total that does not fit a column', () => {
    expect(() => meteredTotal(nanoUsd(1n), -1)).toThrow(RangeError);
    expect(() => meteredTotal(nanoUsd(largest), 3_600_001)).toThrow(RangeError);
  });
});

describe('toCents', () => {
  it('rounds only when converting to cents', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 9n), max: 10n ** 9n }), (cents) => {
        expect(toCents(fromCents(cents), 'down')).toBe(cents);
        expect(toCents(nanoUsd(fromCents(cents) + 1n), 'down')).toBe(cents);
        expect(toCents(nanoUsd(fromCents(cents) + 1n), 'up')).toBe(cents + 1n);
      }),
    );
  });
});

describe('allocate', () => {
  const weights = fc
    .array(fc.bigInt({ min: 0n, max: 10n ** 9n }), { minLength: 1, maxLength: 12 })
    .filter((list) => list.some((weight) => weight > 0n));
  const sum = (values: readonly bigint[]): bigint => values.reduce((total, part) => total + part, 0n);

  it('distributes the whole amount, with less than one nano-USD of error per part', () => {
    fc.assert(
      fc.property(someAmount, weights, (total: NanoUsd, list) => {
        const shares = allocate(total, list);
        const weightSum = sum(list);
        expect(sum(shares)).toBe(total);
        shares.forEach((part, index) => {
          const off = part * weightSum - total * (list[index] ?? 0n);
          expect(off < weightSum && off > -weightSum).toBe(true);
        });
      }),
    );
  });

  it('gives nothing to a weight of zero, and the rest to the first of equal parts', () => {
    expect(allocate(nanoUsd(100n), [1n, 1n, 1n])).toEqual([34n, 33n, 33n]);
    expect(allocate(nanoUsd(7n), [0n, 1n])).toEqual([0n, 7n]);
  });

  it('gives the rest after rounding to the largest remainders', () => {
    expect(allocate(nanoUsd(100n), [1n, 2n])).toEqual([33n, 67n]);
    expect(allocate(nanoUsd(101n), [1n, 2n])).toEqual([34n, 67n]);
    expect(allocate(nanoUsd(10n), [3n, 1n, 2n])).toEqual([5n, 2n, 3n]);
  });

  it('throws for weights without a positive sum', () => {
    for (const wrong of [[], [0n], [1n, -1n], [2n, -1n]]) {
      expect(() => allocate(nanoUsd(1n), wrong)).toThrow('must not be negative');
    }
  });
});
