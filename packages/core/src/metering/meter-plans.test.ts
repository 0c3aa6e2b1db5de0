import { nanoUsd, negateUsd, ppm, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LedgerSuccess, LedgerCommand } from '../ledger/index.ts';
import { at, fixtureIds, HOUR, meterWith, MINUTE } from './meter.fixture.ts';
import { elapsedAt, holdTarget, scheduleOf, type Meter, type MeterTransition } from './meter.ts';
import {
  initialHoldOf,
  planClose,
  planPause,
  planPosting,
  planResume,
  type MeterPlan,
} from './meter-plans.ts';
import { defaultMeteringPolicy } from './policy.ts';

const done = (fields: Partial<LedgerSuccess> = {}): LedgerSuccess => ({
  ok: true,
  replayed: false,
  transferId: null,
  holdId: null,
  amount: zeroUsd,
  held: zeroUsd,
  shortfall: zeroUsd,
  balanceAfter: zeroUsd,
  ...fields,
});
const usd = (amount: number): NanoUsd => nanoUsd(BigInt(amount));
const opened: readonly MeterTransition[] = [{ kind: 'opened', at: at(0) }];
const supplierOrg = fixtureIds.next('org');
const times = (ms: number, nowMs = ms) => ({ at: at(ms), now: at(nowMs) });
const responsesTo = (plan: MeterPlan): LedgerSuccess[] => plan.commands.map(() => done());

describe('planPosting', () => {
  it('posts the unposted time and renews the hold in one command', () => {
    const meter = meterWith({ keyId: fixtureIds.next('key'), postedMs: 400, posted: usd(400), postings: 3 });
    const plan = planPosting(meter, at(1_000), defaultMeteringPolicy);
    const target = holdTarget(meter, 1_000, at(1_000), defaultMeteringPolicy);
    expect(plan.target).toBe(target);
    expect(plan.transition).toBeNull();
    expect(plan.commands).toEqual([
      {
        do: 'post',
        orgId: meter.orgId,
        mode: 'live',
        cause: { kind: 'rental', id: '1042' },
        keyId: meter.keyId,
        step: `meter:${meter.id}:4`,
        holdId: meter.holdId,
        amount: 600n,
        to: [{ account: { kind: 'revenue', product: 'rental' }, amount: 600n }],
        afterwards: { target },
        usage: { gpuMs: 4_800 },
        usedBy: at(1_000),
        description: 'Metered time of rental 1042 (gpu) at $0.0036/h',
      },
    ]);
    const after = plan.finish([done({ held: usd(77), shortfall: usd(5) })]);
    expect(after).toEqual({
      ...meter,
      postedMs: 1_000,
      posted: 1_000n,
      shortfall: 5n,
      postings: 4,
      held: 77n,
      ...scheduleOf(meter, usd(77), at(1_000), defaultMeteringPolicy),
    });
  });

  it('names no key for a meter without one', () => {
    const [command] = planPosting(meterWith(), at(1), defaultMeteringPolicy).commands;
    expect(command).not.toHaveProperty('keyId');
  });

  it('takes another hold target when the wallet is equalized', () => {
    const plan = planPosting(meterWith(), at(10), defaultMeteringPolicy, usd(3));
    expect(plan.commands).toMatchObject([{ amount: 10n, afterwards: { target: 3n } }]);
    expect(plan.target).toBe(3n);
  });

  it('charges and returns nothing if the clock is behind', () => {
    const meter = meterWith({ postedMs: 1_000, posted: usd(1_000) });
    const plan = planPosting(meter, at(400), defaultMeteringPolicy);
    expect(plan.commands).toMatchObject([{ do: 'post', amount: 0n, to: [] }]);
    expect(plan.finish([done()])).toMatchObject({ posted: 1_000n, postedMs: 1_000 });
  });

  it('keeps the hold of a committed term', () => {
    const meter = meterWith({ funding: 'committed', termEndsAt: at(HOUR), held: usd(HOUR) });
    const plan = planPosting(meter, at(1_000), defaultMeteringPolicy, usd(1));
    expect(plan.commands).toMatchObject([{ amount: 1_000n, afterwards: 'keep' }]);
    expect(plan.target).toBe(BigInt(HOUR) - 1_000n);
  });

  it('sends no command for a free meter', () => {
    const meter = meterWith({ holdId: null, ratePerHour: zeroUsd });
    const plan = planPosting(meter, at(1_000), defaultMeteringPolicy);
    expect(plan.commands).toEqual([]);
    expect(plan.finish([])).toMatchObject({ held: 0n, nextPostAt: null, postedMs: 1_000 });
  });

  it('credits a supplier with its share', () => {
    const supplier = { orgId: supplierOrg, ratePerHour: nanoUsd(1_800_000n), posted: usd(7) };
    const plan = planPosting(meterWith({ supplier }), at(1_000), defaultMeteringPolicy);
    expect(plan.commands).toMatchObject([
      { to: [{ account: { kind: 'supplier_payable' }, amount: 493n }, { amount: 507n }] },
    ]);
    expect(plan.finish([done()]).supplier).toEqual({ ...supplier, posted: 500n });
  });
});

describe('planPause', () => {
  it('posts up to the pause, releases the hold and stops the clock', () => {
    const meter = meterWith({ held: usd(9_000) });
    const plan = planPause(meter, opened, times(1_000, 2_000));
    expect(plan.commands).toMatchObject([{ do: 'post', amount: 1_000n, afterwards: { target: 0n } }]);
    expect(plan.transition).toEqual({ kind: 'paused', at: at(1_000) });
    expect(plan.finish(responsesTo(plan))).toEqual({
      ...meter,
      state: 'paused',
      runningSince: null,
      elapsedBeforeMs: 1_000,
      postedMs: 1_000,
      posted: 1_000n,
      held: 0n,
      coveredUntil: null,
      nextPostAt: null,
      postings: 1,
      transitions: 2,
    });
  });

  it('returns what was posted for later time, the absorbed part first', () => {
    const meter = meterWith({ postedMs: 1_000, posted: usd(1_000), shortfall: usd(100), postings: 1 });
    const plan = planPause(meter, opened, times(400, 2_000));
    expect(plan.commands).toMatchObject([
      { do: 'post', amount: 0n, step: `meter:${meter.id}:2` },
      {
        do: 'credit',
        kind: 'credit',
        step: `meter:${meter.id}:2:back`,
        amount: 600n,
        absorbed: 100n,
        from: [{ account: { kind: 'revenue', product: 'rental' }, amount: 600n }],
        usage: { gpuMs: 600 * 8 },
        description: 'Credit for unused time of rental 1042 (gpu) at $0.0036/h',
      },
    ]);
    expect(plan.finish(responsesTo(plan))).toMatchObject({ posted: 400n, shortfall: 0n });
  });

  it("takes the supplier's share back, but not more than is returned", () => {
    const supplier = { orgId: supplierOrg, ratePerHour: nanoUsd(1_800_000n), posted: usd(500) };
    const meter = meterWith({ postedMs: 1_000, posted: usd(1_000), supplier });
    const plan = planPause(meter, opened, times(400, 2_000));
    expect(plan.commands[1]).toMatchObject({
      amount: 600n,
      from: [
        { account: { kind: 'supplier_payable', orgId: supplierOrg }, amount: 300n },
        { account: { kind: 'platform_fee' }, amount: 300n },
      ],
    });
    expect(plan.finish(responsesTo(plan)).supplier?.posted).toBe(200n);
    const absorbed = planPause({ ...meter, shortfall: usd(500) }, opened, times(400, 2_000));
    expect(absorbed.commands[1]).toMatchObject({
      amount: 600n,
      absorbed: 500n,
      from: [
        { account: { kind: 'supplier_payable' }, amount: 300n },
        { account: { kind: 'platform_fee' }, amount: 300n },
      ],
    });
  });

  it('clamps its time between opening and now', () => {
    expect(planPause(meterWith(), opened, times(9_000, 1_000)).transition?.at).toEqual(at(1_000));
    expect(planPause(meterWith(), opened, times(-50, 1_000)).transition?.at).toEqual(at(0));
  });

  it('keeps the hold of a term, and sends no command for a free meter', () => {
    const term = meterWith({ funding: 'committed', termEndsAt: at(HOUR) });
    expect(planPause(term, opened, times(1_000)).commands).toMatchObject([{ afterwards: 'keep' }]);
    const free = planPause(meterWith({ holdId: null }), opened, times(1_000));
    expect(free.commands).toEqual([]);
    expect(free.finish([])).toMatchObject({ held: 0n, state: 'paused' });
  });
});

describe('planResume', () => {
  const paused = meterWith({ state: 'paused', runningSince: null, elapsedBeforeMs: 500, transitions: 2 });
  const history: readonly MeterTransition[] = [...opened, { kind: 'paused', at: at(500) }];

  it('restarts the clock with the available money and is never refused', () => {
    const plan = planResume(paused, history, times(900, 1_000), defaultMeteringPolicy);
    expect(plan.commands).toEqual([
      {
        do: 'resize',
        orgId: paused.orgId,
        mode: 'live',
        cause: paused.cause,
        step: `meter:${paused.id}:resume`,
        holdId: paused.holdId,
        target: holdTarget(paused, 500, at(900), defaultMeteringPolicy),
        atLeast: 0n,
        demand: 'running',
      },
    ]);
    expect(plan.transition).toEqual({ kind: 'resumed', at: at(900) });
    const after = plan.finish([done({ held: usd(40) })]);
    expect(after).toMatchObject({ state: 'open', runningSince: at(900), held: 40n, transitions: 3 });
    expect(after).toMatchObject(scheduleOf(after, usd(40), at(900), defaultMeteringPolicy));
  });

  it('clamps its time between the pause and now', () => {
    expect(planResume(paused, history, times(100, 1_000), defaultMeteringPolicy).transition?.at).toEqual(
      at(500),
    );
    expect(planResume(paused, history, times(5_000, 1_000), defaultMeteringPolicy).transition?.at).toEqual(
      at(1_000),
    );
    expect(planResume(paused, [], times(-5, 1_000), defaultMeteringPolicy).transition?.at).toEqual(at(0));
    const twice: MeterTransition[] = [
      ...history,
      { kind: 'resumed', at: at(600) },
      { kind: 'paused', at: at(700) },
    ];
    expect(planResume(paused, twice, times(650, 1_000), defaultMeteringPolicy).transition?.at).toEqual(
      at(700),
    );
  });

  it('keeps the hold of a term, and has none for a free meter', () => {
    const term: Meter = { ...paused, funding: 'committed', termEndsAt: at(HOUR), held: usd(70) };
    const plan = planResume(term, history, times(900), defaultMeteringPolicy);
    expect(plan.commands).toEqual([]);
    expect(plan.finish([])).toMatchObject({ held: 70n, state: 'open' });
    const free = planResume({ ...paused, holdId: null }, history, times(900), defaultMeteringPolicy);
    expect(free.commands).toEqual([]);
  });
});

describe('planClose', () => {
  it('posts the rest and closes the hold', () => {
    const meter = meterWith({ postedMs: 400, posted: usd(400), postings: 1, held: usd(9_000) });
    const plan = planClose(meter, opened, { ...times(1_000, 2_000), rest: 'owed' });
    expect(plan.commands).toMatchObject([
      { do: 'post', amount: 600n, afterwards: 'close', step: `meter:${meter.id}:2` },
    ]);
    expect(plan.transition).toEqual({ kind: 'closed', at: at(1_000) });
    expect(plan.finish([done({ held: usd(1), shortfall: usd(3) })])).toEqual({
      ...meter,
      state: 'closed',
      runningSince: null,
      elapsedBeforeMs: 1_000,
      postedMs: 1_000,
      posted: 1_000n,
      shortfall: 3n,
      restOfTerm: 0n,
      held: 0n,
      coveredUntil: null,
      nextPostAt: null,
      postings: 2,
      transitions: 2,
      closedAt: at(1_000),
    });
  });

  it('clamps its time between opening and now', () => {
    const closedAt = (ms: number) =>
      planClose(meterWith(), opened, { ...times(ms, 1_000), rest: 'owed' }).transition?.at;
    expect(closedAt(-5)).toEqual(at(0));
    expect(closedAt(5_000)).toEqual(at(1_000));
  });

  const term = meterWith({
    funding: 'committed',
    termEndsAt: at(1_000),
    refund: ppm(500_000),
    held: usd(1_000),
    supplier: { orgId: supplierOrg, ratePerHour: nanoUsd(1_800_000n), posted: zeroUsd },
  });

  it('before the end of a term charges the remaining term as a separate step', () => {
    const plan = planClose(term, opened, { ...times(400), rest: 'owed' });
    expect(plan.commands).toMatchObject([
      { do: 'post', amount: 400n, afterwards: 'keep' },
      {
        do: 'post',
        step: `meter:${term.id}:rest`,
        holdId: term.holdId,
        amount: 300n,
        to: [{ amount: 150n }, { account: { kind: 'platform_fee' }, amount: 150n }],
        afterwards: 'close',
        description: 'Remaining term of rental 1042 (gpu)',
      },
    ]);
    const after = plan.finish(responsesTo(plan));
    expect(after).toMatchObject({ restOfTerm: 300n, posted: 400n, supplier: { posted: 350n } });
  });

  it('charges no remaining term if it is waived or the term has ended', () => {
    const waived = planClose(term, opened, { ...times(400), rest: 'waived' });
    expect(waived.commands).toMatchObject([{ amount: 400n, afterwards: 'close' }]);
    expect(waived.finish(responsesTo(waived))).toMatchObject({ restOfTerm: 0n, supplier: { posted: 200n } });
    const ended = planClose(term, opened, { ...times(1_000), rest: 'owed' });
    expect(ended.commands).toMatchObject([{ amount: 1_000n, afterwards: 'close' }]);
  });

  it('sends no command for a free meter', () => {
    const plan = planClose(meterWith({ holdId: null, ratePerHour: zeroUsd }), opened, {
      ...times(400),
      rest: 'owed',
    });
    expect(plan.commands).toEqual([]);
    expect(plan.finish([])).toMatchObject({ state: 'closed', supplier: null });
  });
});

describe('initialHoldOf', () => {
  it('is the next interval, or the whole term', () => {
    const meter = meterWith();
    expect(initialHoldOf(meter, defaultMeteringPolicy)).toBe(
      holdTarget(meter, 0, at(0), defaultMeteringPolicy),
    );
    const term = meterWith({ funding: 'committed', termEndsAt: at(5_000) });
    expect(initialHoldOf(term, defaultMeteringPolicy)).toBe(5_000n);
    expect(initialHoldOf(meterWith({ termEndsAt: at(-1) }), defaultMeteringPolicy)).toBe(0n);
  });
});

describe('all meter plans together', () => {
  const moneyOf = (commands: readonly LedgerCommand[]): bigint =>
    commands.reduce((sum, command) => {
      if (command.do === 'post') return sum + command.amount;
      return command.do === 'credit' ? sum + negateUsd(command.amount) : sum;
    }, 0n);

  it('post rate × time for any sequence of sweeps, pauses, resumes and late reports', () => {
    const changes = fc.array(
      fc.tuple(fc.constantFrom('sweep', 'pause', 'resume'), fc.nat(90 * MINUTE), fc.nat(20 * MINUTE)),
      { maxLength: 25 },
    );
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 13n }), changes, fc.nat(HOUR), (rate, steps, lateMs) => {
        let meter = meterWith({ ratePerHour: nanoUsd(rate) });
        const transitions: MeterTransition[] = [...opened];
        let nowMs = 0;
        let paid = 0n;
        const carryOut = (plan: MeterPlan): void => {
          paid += moneyOf(plan.commands);
          meter = plan.finish(responsesTo(plan));
          if (plan.transition !== null) transitions.push(plan.transition);
        };
        for (const [step, gap, late] of steps) {
          nowMs += gap;
          const when = times(Math.max(0, nowMs - late), nowMs);
          if (step === 'sweep' && meter.state === 'open')
            carryOut(planPosting(meter, at(nowMs), defaultMeteringPolicy));
          if (step === 'pause' && meter.state === 'open') carryOut(planPause(meter, transitions, when));
          if (step === 'resume' && meter.state === 'paused') {
            carryOut(planResume(meter, transitions, when, defaultMeteringPolicy));
          }
        }
        const when = { ...times(Math.max(0, nowMs - lateMs), nowMs), rest: 'owed' } as const;
        carryOut(planClose(meter, transitions, when));
        expect(meter.posted).toBe((rate * BigInt(elapsedAt(meter, at(nowMs)))) / 3_600_000n);
        expect(paid).toBe(meter.posted);
        expect(meter.elapsedBeforeMs).toBeLessThanOrEqual(nowMs);
      }),
    );
  });
});

describe('usage across the end of a month', () => {
  const monthEnd = 31 * 24 * HOUR;
  const before = monthEnd - 20 * MINUTE;
  const running = (fields: Partial<Meter> = {}): Meter =>
    meterWith({ postedMs: before, posted: usd(before), postings: 9, ...fields });

  it('is posted as two settlements with their own usedBy, and the same total', () => {
    const meter = running();
    const plan = planPosting(meter, at(monthEnd + 10 * MINUTE), defaultMeteringPolicy);
    expect(plan.commands).toMatchObject([
      { step: `meter:${meter.id}:10`, amount: BigInt(20 * MINUTE), afterwards: 'keep', usedBy: at(monthEnd) },
      {
        step: `meter:${meter.id}:11`,
        amount: BigInt(10 * MINUTE),
        afterwards: { target: plan.target },
        usedBy: at(monthEnd + 10 * MINUTE),
      },
    ]);
    const after = plan.finish([
      done({ held: usd(1), shortfall: usd(5) }),
      done({ held: usd(2), shortfall: usd(3) }),
    ]);
    expect(after).toMatchObject({
      posted: BigInt(monthEnd + 10 * MINUTE),
      postings: 11,
      held: 2n,
      shortfall: 8n,
    });
  });

  it('keeps the hold of a term, less both charges', () => {
    const meter = running({ funding: 'committed', termEndsAt: at(2 * monthEnd), held: usd(HOUR) });
    expect(planPosting(meter, at(monthEnd + 10 * MINUTE), defaultMeteringPolicy).target).toBe(
      BigInt(30 * MINUTE),
    );
  });

  it.each([
    ['pause', planPause],
    [
      'close',
      (meter: Meter, known: readonly MeterTransition[], when: ReturnType<typeof times>) =>
        planClose(meter, known, { ...when, rest: 'waived' }),
    ],
  ] as const)('is split in a %s as well', (_, plan) => {
    const usedBy = (when: ReturnType<typeof times>) =>
      plan(running(), opened, when).commands.map((command) =>
        command.do === 'post' ? command.usedBy : null,
      );
    expect(usedBy(times(monthEnd + MINUTE))).toEqual([at(monthEnd), at(monthEnd + MINUTE)]);
    // Reported after the end of the month, but all of the time is before it.
    expect(usedBy(times(monthEnd - MINUTE, monthEnd + MINUTE))).toEqual([at(monthEnd - MINUTE)]);
  });

  it('is one settlement in the old month if the term ended before the month', () => {
    const meter = running({ funding: 'committed', termEndsAt: at(monthEnd - MINUTE) });
    const [only, ...more] = planPosting(meter, at(monthEnd + MINUTE), defaultMeteringPolicy).commands;
    expect(more).toEqual([]);
    expect(only).toMatchObject({ amount: BigInt(19 * MINUTE), usedBy: at(monthEnd) });
  });
});
