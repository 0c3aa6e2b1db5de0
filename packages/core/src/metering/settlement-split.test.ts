import { divideRoundDown, meteredTotal, nanoUsd } from '@millrace/platform/money';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { LedgerSuccess, LedgerCommand, Share } from '../ledger/index.ts';
import { fixtureIds, meterWith } from './meter.fixture.ts';
import type { Meter, MeterTransition } from './meter.ts';
import { planClose, planPause, planPosting, planResume, type MeterPlan } from './meter-plans.ts';
import { defaultMeteringPolicy } from './policy.ts';

/**
 * Random sequences of postings, pauses and closes of a meter with a supplier, in memory. Some pauses and closes are
 * earlier than the last posting, and some charges exceed the tenant's money.
 */

interface Step {
  readonly do: 'sweep' | 'pause' | 'resume' | 'close';
  readonly afterMs: number;
  /** How far the last healthy time of the machine is before now. */
  readonly backMs: number;
  /** The share of a charge that the tenant can pay, in percent. */
  readonly paysPercent: number;
}

const anySteps = fc.array(
  fc.record({
    do: fc.constantFrom(
      'sweep' as const,
      'sweep' as const,
      'pause' as const,
      'resume' as const,
      'close' as const,
    ),
    afterMs: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 7_200_000 })),
    backMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 3_600_000 })),
    paysPercent: fc.constantFrom(100, 100, 100, 37, 0),
  }),
  { maxLength: 40 },
);
// With small rates nearly every settlement involves rounding.
const rates = fc
  .oneof(fc.bigInt({ min: 1n, max: 50n }), fc.bigInt({ min: 1n, max: 10n ** 10n }))
  .chain((rate) =>
    fc.tuple(fc.constant(rate), fc.oneof(fc.bigInt({ min: 0n, max: rate }), fc.constant(rate))),
  );

interface Totals {
  tenant: bigint;
  operator: bigint;
  supplier: bigint;
  fee: bigint;
}

const supplierOrg = fixtureIds.next('org');
const isSupplier = ({ account }: Share): boolean => account.kind === 'supplier_payable';

function addShares(totals: Totals, shares: readonly Share[], sign: bigint): void {
  for (const share of shares) {
    if (share.amount <= 0n) throw new Error('A share must be positive.');
    if (isSupplier(share)) totals.supplier += sign * share.amount;
    else totals.fee += sign * share.amount;
  }
}

/** Applies a command as the ledger would. */
function applyCommand(totals: Totals, command: LedgerCommand, paysPercent: number): LedgerSuccess {
  let shortfall = 0n;
  if (command.do === 'post') {
    const paid = divideRoundDown(command.amount * BigInt(paysPercent), 100n);
    shortfall = command.amount - paid;
    totals.tenant += paid;
    totals.operator += shortfall;
    addShares(totals, command.to, 1n);
  } else if (command.do === 'credit') {
    const absorbed = command.absorbed ?? 0n;
    totals.tenant -= command.amount - absorbed;
    totals.operator -= absorbed;
    addShares(totals, command.from, -1n);
  }
  return {
    ok: true,
    replayed: false,
    transferId: null,
    holdId: null,
    amount: nanoUsd(0n),
    held: nanoUsd(0n),
    shortfall: nanoUsd(shortfall),
    balanceAfter: nanoUsd(0n),
  };
}

function planOf(
  step: Step,
  meter: Meter,
  transitions: readonly MeterTransition[],
  nowMs: number,
): MeterPlan | null {
  const now = new Date(nowMs);
  const times = { at: new Date(nowMs - step.backMs), now };
  if (meter.state === 'closed') return null;
  switch (step.do) {
    case 'sweep':
      return meter.state === 'open' ? planPosting(meter, now, defaultMeteringPolicy) : null;
    case 'pause':
      return meter.state === 'open' ? planPause(meter, transitions, times) : null;
    case 'resume':
      return meter.state === 'paused' ? planResume(meter, transitions, times, defaultMeteringPolicy) : null;
    case 'close':
      return planClose(meter, transitions, { ...times, rest: 'owed' });
  }
}

it('tenant and operator together always pay exactly the supplier earnings and the fee', () => {
  fc.assert(
    fc.property(rates, anySteps, ([rate, part], steps) => {
      // Most sequences cross the end of a month.
      const startMs = Date.UTC(2026, 0, 31, 20);
      let meter = meterWith({
        ratePerHour: nanoUsd(rate),
        supplier: { orgId: supplierOrg, ratePerHour: nanoUsd(part), posted: nanoUsd(0n) },
        openedAt: new Date(startMs),
        runningSince: new Date(startMs),
      });
      const transitions: MeterTransition[] = [{ kind: 'opened', at: meter.openedAt }];
      const totals: Totals = { tenant: 0n, operator: 0n, supplier: 0n, fee: 0n };
      let nowMs = startMs;
      for (const step of steps) {
        nowMs += step.afterMs;
        const plan = planOf(step, meter, transitions, nowMs);
        if (plan === null) continue;
        meter = plan.finish(plan.commands.map((command) => applyCommand(totals, command, step.paysPercent)));
        if (plan.transition !== null) transitions.push(plan.transition);
        expect(totals.tenant + totals.operator).toBe(totals.supplier + totals.fee);
        expect(totals.tenant + totals.operator).toBe(meter.posted);
        expect(totals.supplier).toBe(meter.supplier?.posted);
        expect(totals.operator).toBe(meter.shortfall);
        expect(totals.fee >= 0n && totals.supplier >= 0n).toBe(true);
        // Rate × time with two separate roundings, which differ by at most one nano-USD.
        const due = meteredTotal(nanoUsd(part), meter.postedMs);
        expect(totals.supplier - due >= -1n && totals.supplier - due <= 1n).toBe(true);
      }
    }),
    { numRuns: 3_000 },
  );
});
