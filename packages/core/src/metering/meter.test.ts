import { parseId, toUuid } from '@millrace/platform/ids';
import { meteredTotal, nanoUsd, ppm, zeroUsd } from '@millrace/platform/money';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { at, fixtureIds, HOUR, meterWith, MINUTE } from './meter.fixture.ts';
import {
  absorbedPartOf,
  costAt,
  elapsedAt,
  elapsedByTransitions,
  holdAmount,
  holdTarget,
  nextPostingTime,
  restOfTerm,
  scheduleOf,
  computeSettlement,
  ledgerSharesOf,
  minUsd,
  settlementStepOf,
  type Meter,
  type MeterTransition,
} from './meter.ts';
import { defaultMeteringPolicy } from './policy.ts';

const supplierOrg = fixtureIds.next('org');
const rates = fc.bigInt({ min: 0n, max: 10_000_000_000_000n }).map(nanoUsd);

describe('elapsed time', () => {
  it('is the time before and since the last resume', () => {
    expect(elapsedAt(meterWith(), at(5))).toBe(5);
    expect(elapsedAt(meterWith({ elapsedBeforeMs: 7, runningSince: at(10) }), at(15))).toBe(12);
    expect(elapsedAt(meterWith({ elapsedBeforeMs: 7, runningSince: null }), at(15))).toBe(7);
  });

  it('does not pass if the clock is behind', () => {
    expect(elapsedAt(meterWith({ elapsedBeforeMs: 7, runningSince: at(10) }), at(3))).toBe(7);
  });

  it('ends with the term, however late it is computed', () => {
    const meter = meterWith({ funding: 'committed', termEndsAt: at(100) });
    expect([99, 100, 101, 10_000].map((ms) => elapsedAt(meter, at(ms)))).toEqual([99, 100, 100, 100]);
  });

  const history = (...steps: [MeterTransition['kind'], number][]): MeterTransition[] =>
    steps.map(([kind, ms]) => ({ kind, at: at(ms) }));

  it.each([
    ['that is running', history(['opened', 10]), 25, 15],
    ['that has not started', history(['opened', 10]), 5, 0],
    ['that was paused', history(['opened', 0], ['paused', 10]), 25, 10],
    ['that was resumed', history(['opened', 0], ['paused', 10], ['resumed', 20]), 25, 15],
    ['that was closed', history(['opened', 0], ['paused', 10], ['resumed', 20], ['closed', 24]), 99, 14],
    ['closed while it was paused', history(['opened', 0], ['paused', 10], ['closed', 20]), 99, 10],
    ['closed before its pause', history(['opened', 0], ['paused', 10], ['closed', 4]), 99, 4],
    [
      'closed before its resumption',
      history(['opened', 0], ['paused', 10], ['resumed', 20], ['closed', 15]),
      99,
      10,
    ],
    [
      'paused twice, the second time before the first',
      history(['opened', 0], ['paused', 10], ['resumed', 12], ['paused', 6]),
      99,
      6,
    ],
    ['read before its pause', history(['opened', 0], ['paused', 10]), 4, 4],
  ])('by transitions of a meter %s ends at the earliest end', (_name, transitions, ms, expected) => {
    expect(elapsedByTransitions({ termEndsAt: null }, transitions, at(ms))).toBe(expected);
  });

  it('by transitions ends with the term too', () => {
    expect(elapsedByTransitions({ termEndsAt: at(30) }, history(['opened', 10]), at(99))).toBe(20);
  });

  it('by row and by transitions is the same', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(10_000), { maxLength: 12 }), (gaps) => {
        const transitions: MeterTransition[] = [{ kind: 'opened', at: at(0) }];
        let meter = meterWith();
        let ms = 0;
        for (const gap of gaps) {
          ms += gap;
          const running = meter.runningSince !== null;
          transitions.push({ kind: running ? 'paused' : 'resumed', at: at(ms) });
          meter = {
            ...meter,
            elapsedBeforeMs: elapsedAt(meter, at(ms)),
            runningSince: running ? null : at(ms),
          };
        }
        expect(elapsedByTransitions(meter, transitions, at(ms + 5))).toBe(elapsedAt(meter, at(ms + 5)));
      }),
    );
  });
});

describe('costAt', () => {
  it('is rate × time plus an owed remaining term', () => {
    expect(costAt(meterWith(), at(12))).toBe(12n);
    expect(costAt(meterWith({ restOfTerm: nanoUsd(5n) }), at(12))).toBe(17n);
  });

  it('equals the quote for that time to the nano-USD', () => {
    fc.assert(
      fc.property(rates, fc.nat(400 * 24 * HOUR), (ratePerHour, ms) => {
        expect(costAt(meterWith({ ratePerHour }), at(ms))).toBe(meteredTotal(ratePerHour, ms));
      }),
    );
  });
});

describe('computeSettlement', () => {
  /** As the store does: records the settled amount as posted. */
  const after = (meter: Meter, elapsedMs: number): Meter => {
    const { postedMs, posted, supplierPart } = computeSettlement(meter, elapsedMs);
    const { supplier } = meter;
    return {
      ...meter,
      postedMs,
      posted,
      supplier: supplier === null ? null : { ...supplier, posted: nanoUsd(supplier.posted + supplierPart) },
    };
  };

  it('posts the same total for any split of the time', () => {
    fc.assert(
      fc.property(rates, fc.array(fc.nat(3 * HOUR), { maxLength: 20 }), (ratePerHour, pieces) => {
        let meter = meterWith({ ratePerHour });
        let elapsedMs = 0;
        let charged = 0n;
        for (const piece of pieces) {
          elapsedMs += piece;
          const { charge, giveBack } = computeSettlement(meter, elapsedMs);
          charged += charge - giveBack;
          meter = after(meter, elapsedMs);
        }
        expect(charged).toBe(meteredTotal(ratePerHour, elapsedMs));
      }),
    );
  });

  it('charges once if it is repeated', () => {
    const meter = after(meterWith(), 1_000);
    expect(computeSettlement(meter, 1_000)).toMatchObject({
      charge: 0n,
      giveBack: 0n,
      usedMs: 0,
      supplierPart: 0n,
    });
  });

  it('charges the difference and reports the usage', () => {
    const meter = meterWith({ postedMs: 400, posted: nanoUsd(400n) });
    expect(computeSettlement(meter, 1_000)).toEqual({
      postedMs: 1_000,
      posted: 1_000n,
      charge: 600n,
      giveBack: 0n,
      supplierPart: 0n,
      usedMs: 600 * 8,
      unusedMs: 0,
    });
  });

  it('returns money posted for time that does not count', () => {
    const meter = meterWith({ postedMs: 1_000, posted: nanoUsd(1_000n) });
    expect(computeSettlement(meter, 400)).toMatchObject({
      charge: 0n,
      giveBack: 600n,
      usedMs: 0,
      unusedMs: 600 * 8,
      posted: 400n,
    });
  });

  it('follows the time up and down, and ends at the cost', () => {
    fc.assert(
      fc.property(rates, rates, fc.array(fc.nat(3 * HOUR), { minLength: 1 }), (one, other, times) => {
        const [low, high] = one < other ? [one, other] : [other, one];
        let meter = meterWith({
          ratePerHour: high,
          supplier: { orgId: supplierOrg, ratePerHour: low, posted: zeroUsd },
        });
        let charged = 0n;
        let elapsedMs = 0;
        for (elapsedMs of times) {
          const { charge, giveBack, supplierPart } = computeSettlement(meter, elapsedMs);
          expect(charge === 0n || giveBack === 0n).toBe(true);
          expect(supplierPart).toBeLessThanOrEqual(charge);
          expect(supplierPart).toBeGreaterThanOrEqual(0n - giveBack);
          charged += charge - giveBack;
          meter = after(meter, elapsedMs);
        }
        expect(charged).toBe(meteredTotal(high, elapsedMs));
        const drift = (meter.supplier?.posted ?? 0n) - meteredTotal(low, elapsedMs);
        expect(drift === 0n || drift === 1n || drift === -1n).toBe(true);
      }),
    );
  });

  it('gives a supplier its own total, never more than is moved', () => {
    const supplier = { orgId: supplierOrg, ratePerHour: nanoUsd(2_700_000n), posted: nanoUsd(300n) };
    const meter = meterWith({ postedMs: 400, posted: nanoUsd(400n), supplier });
    expect(computeSettlement(meter, 1_000).supplierPart).toBe(450n);
    expect(computeSettlement(meter, 200).supplierPart).toBe(-150n);
    expect(
      computeSettlement({ ...meter, supplier: { ...supplier, posted: zeroUsd } }, 500).supplierPart,
    ).toBe(100n);
    expect(
      computeSettlement({ ...meter, supplier: { ...supplier, posted: nanoUsd(900n) } }, 300).supplierPart,
    ).toBe(-100n);
  });
});

describe('ledgerSharesOf', () => {
  const supplier = { orgId: supplierOrg, ratePerHour: zeroUsd, posted: zeroUsd };
  it('is only revenue of the product without a supplier', () => {
    expect(ledgerSharesOf(meterWith({ product: 'volume' }), nanoUsd(5n), zeroUsd)).toEqual([
      { account: { kind: 'revenue', product: 'volume' }, amount: 5n },
    ]);
  });

  it('splits between supplier and platform, without zero shares', () => {
    const meter = meterWith({ supplier });
    const toSupplier = (amount: bigint) => ({
      account: { kind: 'supplier_payable', orgId: supplierOrg },
      amount,
    });
    const toPlatform = (amount: bigint) => ({ account: { kind: 'platform_fee' }, amount });
    expect(ledgerSharesOf(meter, nanoUsd(5n), nanoUsd(3n))).toEqual([toSupplier(3n), toPlatform(2n)]);
    expect(ledgerSharesOf(meter, nanoUsd(5n), nanoUsd(5n))).toEqual([toSupplier(5n)]);
    expect(ledgerSharesOf(meter, nanoUsd(5n), zeroUsd)).toEqual([toPlatform(5n)]);
  });

  it('is empty for zero', () => {
    expect(ledgerSharesOf(meterWith(), zeroUsd, zeroUsd)).toEqual([]);
    expect(ledgerSharesOf(meterWith({ supplier }), zeroUsd, zeroUsd)).toEqual([]);
  });
});

describe('absorbedPartOf', () => {
  it.each([
    [10n, 0n, 0n],
    [10n, 4n, 4n],
    [10n, 10n, 10n],
    [10n, 25n, 10n],
  ])('for %s returned and %s absorbed takes the absorbed part first', (giveBack, shortfall, absorbed) => {
    expect(absorbedPartOf(meterWith({ shortfall: nanoUsd(shortfall) }), nanoUsd(giveBack))).toBe(absorbed);
  });

  it('uses a minUsd that returns the smaller amount', () => {
    expect(minUsd(nanoUsd(1n), nanoUsd(2n))).toBe(1n);
    expect(minUsd(nanoUsd(2n), nanoUsd(1n))).toBe(1n);
  });
});

describe('restOfTerm', () => {
  const term = meterWith({ funding: 'committed', termEndsAt: at(1_000), refund: ppm(250_000) });

  it('is owed less the refund, which is rounded down', () => {
    expect(restOfTerm(term, 400, at(400))).toEqual({ amount: 450n, ofSupplier: 0n });
    expect(restOfTerm(term, 399, at(399))).toEqual({ amount: 451n, ofSupplier: 0n });
    expect(restOfTerm({ ...term, refund: ppm(0) }, 400, at(400)).amount).toBe(600n);
    expect(restOfTerm({ ...term, refund: ppm(1_000_000) }, 400, at(400)).amount).toBe(0n);
  });

  it('equals the quote to the nano-USD', () => {
    const refunds = fc.integer({ min: 0, max: 1_000_000 }).map(ppm);
    fc.assert(
      fc.property(rates, refunds, fc.integer({ min: 0, max: 30 * 24 * HOUR }), (ratePerHour, refund, ms) => {
        const termMs = 30 * 24 * HOUR;
        const meter = meterWith({ ratePerHour, refund, funding: 'committed', termEndsAt: at(termMs) });
        const rest = meteredTotal(ratePerHour, termMs) - meteredTotal(ratePerHour, ms);
        const back = (rest * BigInt(refund)) / 1_000_000n;
        expect(restOfTerm(meter, ms, at(ms)).amount).toBe(rest - back);
      }),
    );
  });

  it('does not count paused time', () => {
    expect(restOfTerm({ ...term, refund: ppm(0) }, 300, at(900)).amount).toBe(100n);
  });

  it('is zero at or after the end, and without a term', () => {
    expect(restOfTerm(term, 1_000, at(1_000)).amount).toBe(0n);
    expect(restOfTerm(term, 1_000, at(2_000)).amount).toBe(0n);
    expect(restOfTerm(meterWith(), 400, at(400))).toEqual({ amount: 0n, ofSupplier: 0n });
  });

  it('is shared with the supplier, who never gets more than all of it', () => {
    const supplier = { orgId: supplierOrg, ratePerHour: nanoUsd(1_800_000n), posted: zeroUsd };
    expect(restOfTerm({ ...term, supplier }, 400, at(400))).toEqual({ amount: 450n, ofSupplier: 225n });
    const all = { ...supplier, ratePerHour: nanoUsd(99_000_000n) };
    expect(restOfTerm({ ...term, supplier: all }, 400, at(400)).ofSupplier).toBe(450n);
  });
});

describe('nextPostingTime', () => {
  it('is within the next hour and repeats hourly', () => {
    fc.assert(
      fc.property(fc.nat(1_000 * HOUR), (ms) => {
        const { id } = meterWith();
        const slot = nextPostingTime(id, at(ms), HOUR);
        const waitMs = slot.getTime() - at(ms).getTime();
        expect(waitMs).toBeGreaterThan(0);
        expect(waitMs).toBeLessThanOrEqual(HOUR);
        expect(nextPostingTime(id, slot, HOUR).getTime() - slot.getTime()).toBe(HOUR);
        expect(nextPostingTime(id, new Date(slot.getTime() - 1), HOUR)).toEqual(slot);
      }),
    );
  });

  it('is derived from the id', () => {
    const id = parseId('mtr', meterWith().id);
    if (id === null) throw new Error('no id');
    const offsetMs = Number.parseInt(toUuid(id).slice(-8), 16) % HOUR;
    expect(nextPostingTime(id, at(0), HOUR).getTime() % HOUR).toBe(offsetMs);
  });

  it('spreads many meters evenly', () => {
    const tenths = new Map<number, number>();
    for (let nth = 0; nth < 2_000; nth += 1) {
      const slot = nextPostingTime(meterWith().id, at(0), HOUR).getTime() - at(0).getTime();
      const tenth = Math.floor((slot - 1) / (HOUR / 10));
      tenths.set(tenth, (tenths.get(tenth) ?? 0) + 1);
    }
    expect(tenths.size).toBe(10);
    expect(Math.min(...tenths.values())).toBeGreaterThan(120);
  });
});

describe('hold of a meter', () => {
  it('pays exactly the next posting', () => {
    fc.assert(
      fc.property(rates, fc.nat(9 * HOUR), fc.nat(9 * HOUR), (ratePerHour, elapsedMs, aheadMs) => {
        const posted = meteredTotal(ratePerHour, elapsedMs);
        const meter = meterWith({ ratePerHour, posted, postedMs: elapsedMs });
        expect(holdAmount(meter, elapsedMs, aheadMs)).toBe(
          computeSettlement(meter, elapsedMs + aheadMs).charge,
        );
      }),
    );
  });

  it('covers the next posting, the margin and the retention', () => {
    const meter = meterWith({ retentionMs: 7 });
    const untilSlot = nextPostingTime(meter.id, at(50), HOUR).getTime() - at(50).getTime();
    expect(holdTarget(meter, 50, at(50), defaultMeteringPolicy)).toBe(BigInt(untilSlot + 15 * MINUTE + 7));
    const cheap = { ...meter, retentionMs: 100, retentionRatePerHour: nanoUsd(900_001n) };
    expect(holdTarget(cheap, 50, at(50), defaultMeteringPolicy)).toBe(BigInt(untilSlot + 15 * MINUTE + 26));
  });
});

describe('scheduleOf', () => {
  const meter = meterWith();
  const slot = nextPostingTime(meter.id, at(0), HOUR);
  const slotMs = slot.getTime() - at(0).getTime();
  const held = (ms: number) => nanoUsd(BigInt(ms));

  it('is the slot if the hold covers it and the margin', () => {
    const enough = slotMs + defaultMeteringPolicy.marginMs;
    expect(scheduleOf(meter, held(enough), at(0), defaultMeteringPolicy)).toEqual({
      coveredUntil: at(enough),
      nextPostAt: slot,
    });
  });

  it('is earlier if the hold does not cover the slot', () => {
    const short = slotMs + defaultMeteringPolicy.marginMs - 1;
    const expected = Math.max(slotMs - 1, MINUTE);
    expect(scheduleOf(meter, held(short), at(0), defaultMeteringPolicy).nextPostAt).toEqual(
      at(Math.min(slotMs, expected)),
    );
  });

  it('leaves a minute between two tries, unless the slot is earlier', () => {
    const soon = Math.min(slotMs, MINUTE);
    expect(scheduleOf(meter, zeroUsd, at(0), defaultMeteringPolicy)).toEqual({
      coveredUntil: at(0),
      nextPostAt: at(soon),
    });
  });

  it('does not count money held for retention towards the next posting', () => {
    const retained = meterWith({ id: meter.id, retentionMs: HOUR });
    const enough = slotMs + defaultMeteringPolicy.marginMs + HOUR;
    expect(scheduleOf(retained, held(enough), at(0), defaultMeteringPolicy).nextPostAt).toEqual(slot);
    const none = scheduleOf(retained, held(HOUR), at(0), defaultMeteringPolicy);
    expect(none).toEqual({ coveredUntil: at(HOUR), nextPostAt: at(Math.min(slotMs, MINUTE)) });
  });

  it('uses the retention rate after running ends, with the money that remains', () => {
    const retained = meterWith({ retentionMs: HOUR, retentionRatePerHour: nanoUsd(360_000n) });
    const until = (nano: number) =>
      scheduleOf(retained, held(nano), at(0), defaultMeteringPolicy).coveredUntil;
    expect(until(HOUR / 10 + 5_000)).toEqual(at(HOUR + 5_000));
    expect(until(HOUR / 10)).toEqual(at(HOUR));
    expect(until(HOUR / 20)).toEqual(at(HOUR / 2));
    expect(until(0)).toEqual(at(0));
    const free = { ...retained, retentionRatePerHour: zeroUsd };
    expect(scheduleOf(free, held(7), at(0), defaultMeteringPolicy).coveredUntil).toEqual(at(HOUR + 7));
  });

  it('of a term is always the slot, because the term is paid for', () => {
    const term = meterWith({ id: meter.id, funding: 'committed', termEndsAt: at(HOUR) });
    expect(scheduleOf(term, held(5), at(0), defaultMeteringPolicy)).toEqual({
      coveredUntil: at(5),
      nextPostAt: slot,
    });
  });

  it('is empty for a free meter', () => {
    expect(scheduleOf(meterWith({ ratePerHour: zeroUsd }), zeroUsd, at(0), defaultMeteringPolicy)).toEqual({
      coveredUntil: null,
      nextPostAt: null,
    });
  });

  it('is limited to the last supported date', () => {
    const cheap = meterWith({ ratePerHour: nanoUsd(1n) });
    const { coveredUntil } = scheduleOf(cheap, nanoUsd(2n ** 62n), at(0), defaultMeteringPolicy);
    expect(coveredUntil).toEqual(new Date(Date.UTC(9999, 11, 31)));
  });
});

describe('settlementStepOf', () => {
  it('is numbered, so that it is unique', () => {
    const meter = meterWith({ postings: 4 });
    expect(settlementStepOf(meter)).toBe(`meter:${meter.id}:5`);
  });
});
