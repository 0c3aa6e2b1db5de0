import { nanoUsd } from '@millrace/platform/money';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clawbackTarget, decideReport, decideClawback, isUndecided, type Decision } from './decide-report.ts';
import type { Dispute, Payment, PaymentState, Report, DisputeStanding } from './payment.ts';
import {
  disputed,
  paidPayment,
  payment,
  refunded,
  refundFailed,
  providerReport,
  session,
  usd,
} from './payments.fixture.ts';

const after = (before: Payment, ...reports: readonly Report[]): Decision =>
  reports.reduce<Decision>((so, report) => decideReport(so.payment, so.disputes, report), {
    outcome: 'unchanged',
    why: '',
    payment: before,
    disputes: [],
    dispute: null,
  });
const target = ({ payment: now, disputes }: Decision) => clawbackTarget(now, disputes);

describe('a payment page', () => {
  it.each<[PaymentState, Parameters<typeof session>[0], PaymentState]>([
    ['created', 'open', 'open'],
    ['created', 'processing', 'processing'],
    ['created', 'expired', 'expired'],
    ['open', 'open', 'open'],
    ['open', 'processing', 'processing'],
    ['open', 'failed', 'failed'],
    ['open', 'expired', 'expired'],
    ['processing', 'open', 'processing'],
    ['processing', 'processing', 'processing'],
    ['processing', 'failed', 'failed'],
    ['expired', 'open', 'expired'],
    ['expired', 'failed', 'expired'],
    ['failed', 'processing', 'failed'],
    ['failed', 'expired', 'failed'],
  ])('that is %s and is said to be %s becomes %s', (state, status, expected) => {
    const decision = decideReport(payment({ state }), [], providerReport(session(status)));
    expect(decision.payment.state).toBe(expected);
    expect(decision.payment.credited).toBe(0n);
  });

  it.each<PaymentState>(['created', 'open', 'processing', 'expired', 'failed'])(
    'that is %s is credited whole when it was paid as asked: money that came is never kept back',
    (state) => {
      const decision = decideReport(
        payment({ state, sessionRef: null }),
        [],
        providerReport(session('paid'), 5),
      );
      expect(decision).toMatchObject({ outcome: 'applied', why: '' });
      expect(decision.payment).toMatchObject({
        state: 'paid',
        credited: usd(100),
        sessionRef: 'cs_1',
        intentRef: 'pi_1',
        paidAt: providerReport(session('paid'), 5).occurredAt,
      });
    },
  );

  it.each([
    ['a cent less', { amountCents: 9_999 }, /99990000000 nano-USD were paid and 100000000000 asked for/],
    ['a cent more', { amountCents: 10_001 }, /100010000000 nano-USD were paid/],
    ['nothing, by a coupon', { amountCents: 0 }, /0 nano-USD were paid/],
    ['the same number in another currency', { currency: 'eur' }, /paid in eur/],
  ])('paid with %s credits nothing, and stays so whatever is said later', (_what, fields, why) => {
    const wrong = decideReport(payment(), [], providerReport(session('paid', fields)));
    expect(wrong).toMatchObject({ outcome: 'mismatch', payment: { state: 'mismatch', credited: 0n } });
    expect(wrong.why).toMatch(why);
    const later = after(wrong.payment, providerReport(session('paid')), providerReport(session('expired')));
    expect(later.payment).toMatchObject({ state: 'mismatch', credited: 0n });
  });

  it.each([
    ['play money for a payment in real money', payment(), session('paid', { live: false })],
    ['real money for a payment in play money', payment({ real: false }), session('paid')],
    ['another page', payment(), session('paid', { sessionRef: 'cs_2' })],
    ['another intent', payment({ intentRef: 'pi_2' }), session('paid')],
  ])('is not touched by a report about %s, which is shown to the operator', (_what, before, fact) => {
    const decision = decideReport(before, [], providerReport(fact));
    expect(decision.outcome).toBe('mismatch');
    expect(decision.why).not.toBe('');
    expect(decision.payment).toBe(before);
  });

  it('that was credited stays credited, and a contradiction is only shown', () => {
    const before = paidPayment();
    const decision = decideReport(before, [], providerReport(session('paid', { amountCents: 1 })));
    expect(decision).toMatchObject({ outcome: 'mismatch', payment: { state: 'paid', credited: usd(100) } });
  });

  it('said to be what it is changes nothing, and says so', () => {
    expect(decideReport(paidPayment(), [], providerReport(session('paid'))).outcome).toBe('unchanged');
    expect(decideReport(payment(), [], providerReport(session('open'))).outcome).toBe('unchanged');
  });

  it('is looked after while it is undecided', () => {
    const states: readonly PaymentState[] = ['created', 'open', 'processing', 'paid', 'expired', 'mismatch'];
    expect(states.filter(isUndecided)).toEqual(['created', 'open', 'processing']);
  });
});

describe('a refund', () => {
  it('is a total: told again it changes nothing, told late it takes nothing back', () => {
    const decision = after(
      paidPayment(),
      providerReport(refunded(30)),
      providerReport(refunded(50)),
      providerReport(refunded(30)),
    );
    expect(decision).toMatchObject({ outcome: 'unchanged', payment: { state: 'paid', refunded: usd(50) } });
    expect(target(decision)).toBe(usd(50));
  });

  it('of all of it makes the payment refunded', () => {
    expect(after(paidPayment(), providerReport(refunded(100))).payment.state).toBe('refunded');
    expect(after(paidPayment(), providerReport(refunded(99.99))).payment.state).toBe('paid');
  });

  it('of more than was paid takes back all of it and no more, and is shown to the operator', () => {
    const decision = after(paidPayment(), providerReport(refunded(100.01)));
    expect(decision).toMatchObject({ outcome: 'mismatch', payment: { state: 'refunded' } });
    expect(target(decision)).toBe(usd(100));
  });

  it('before the payment is credited takes nothing back yet, and is counted once it is', () => {
    const early = after(payment({ intentRef: 'pi_1' }), providerReport(refunded(40)));
    expect([early.payment.state, target(early)]).toEqual(['open', 0n]);
    const paid = after(early.payment, providerReport(session('paid')));
    expect([paid.payment.credited, target(paid)]).toEqual([usd(100), usd(40)]);
  });

  it('that fails at the bank gives the credit back, in whatever order and however often it is told', () => {
    const reports = [
      providerReport(refunded(100), 1),
      providerReport(refundFailed(100), 5),
      providerReport(refundFailed(100), 6),
      providerReport(refunded(100), 1),
    ];
    for (const order of [reports, reports.toReversed(), [2, 0, 1, 3].flatMap((at) => reports[at] ?? [])]) {
      const decision = after(paidPayment(), ...order);
      expect([decision.payment.state, decision.payment.refunded, target(decision)]).toEqual(['paid', 0n, 0n]);
    }
  });

  it('that follows a failed one counts, since its total leaves the failed one out', () => {
    const reports = [
      providerReport(refunded(100), 1),
      providerReport(refundFailed(100), 5),
      providerReport(refunded(60), 9),
    ];
    for (const order of [reports, reports.toReversed()]) {
      expect(target(after(paidPayment(), ...order))).toBe(usd(60));
    }
  });

  it('whose total goes down is followed, by the clock of the provider', () => {
    const [high, low] = [providerReport(refunded(100), 1), providerReport(refunded(0), 2)];
    expect(target(after(paidPayment(), high, low))).toBe(0n);
    expect(target(after(paidPayment(), low, high))).toBe(0n);
  });

  it('of one of two parts that fails leaves the other taken back', () => {
    const reports = [
      providerReport(refunded(30), 1),
      providerReport(refunded(80), 2),
      providerReport(refundFailed(50), 3),
    ];
    expect(target(after(paidPayment(), ...reports))).toBe(usd(30));
  });

  it('in another currency moves nothing and is shown to the operator', () => {
    const decision = after(paidPayment(), providerReport(refunded(40, { currency: 'eur' })));
    expect([decision.outcome, target(decision)]).toEqual(['mismatch', 0n]);
  });
});

describe('a dispute', () => {
  it.each<[DisputeStanding, PaymentState, number]>([
    ['inquiry', 'paid', 0],
    ['open', 'disputed', 60],
    ['lost', 'charged_back', 60],
    ['won', 'paid', 0],
  ])('that is %s makes the payment %s and takes back %d USD', (standing, state, dollars) => {
    const decision = after(paidPayment(), providerReport(disputed(standing, 60)));
    expect([decision.outcome, decision.payment.state, target(decision)]).toEqual([
      'applied',
      state,
      usd(dollars),
    ]);
  });

  it('never takes back more than was credited, whatever else was refunded or disputed', () => {
    const second = disputed('lost', 70, { disputeRef: 'dp_2' });
    const reports = [
      providerReport(refunded(40)),
      providerReport(disputed('open', 70)),
      providerReport(second),
    ];
    const decision = after(paidPayment(), ...reports);
    expect([decision.payment.state, target(decision)]).toEqual(['disputed', usd(100)]);
    const won = after(paidPayment(), ...reports, providerReport(disputed('won', 70), 9));
    expect([won.payment.state, target(won)]).toEqual(['charged_back', usd(100)]);
    const bothWon = after(
      paidPayment(),
      ...reports,
      providerReport(disputed('won', 70), 9),
      providerReport({ ...second, standing: 'won' }, 9),
    );
    expect([bothWon.payment.state, target(bothWon)]).toEqual(['paid', usd(40)]);
  });

  it('takes the newest word: an older one that comes late is not heard', () => {
    const opened = providerReport(disputed('open'), 1);
    const closed = providerReport(disputed('won'), 2);
    expect(after(paidPayment(), opened, closed).payment.state).toBe('paid');
    expect(after(paidPayment(), closed, opened).payment.state).toBe('paid');
    expect(after(paidPayment(), closed, providerReport(disputed('lost'), 3)).payment.state).toBe(
      'charged_back',
    );
  });

  it('within one second takes the word that is further along', () => {
    expect(
      after(paidPayment(), providerReport(disputed('lost')), providerReport(disputed('open'))).payment.state,
    ).toBe('charged_back');
    expect(
      after(paidPayment(), providerReport(disputed('inquiry')), providerReport(disputed('open'))).payment
        .state,
    ).toBe('disputed');
  });

  it('may change its amount', () => {
    const decision = after(
      paidPayment(),
      providerReport(disputed('open', 60), 1),
      providerReport(disputed('open', 80), 2),
    );
    expect([decision.outcome, target(decision), decision.disputes.length]).toEqual(['applied', usd(80), 1]);
    expect(
      after(paidPayment(), providerReport(disputed('open', 60), 1), providerReport(disputed('open', 60), 2))
        .outcome,
    ).toBe('unchanged');
  });

  it('in another currency holds back the whole payment until the operator has looked', () => {
    const decision = after(paidPayment(), providerReport(disputed('open', 1, { currency: 'eur' })));
    expect(decision).toMatchObject({ outcome: 'mismatch', payment: { state: 'disputed' } });
    expect([decision.why, target(decision)]).toEqual(['it is disputed in eur', usd(100)]);
  });
});

describe('the clawback', () => {
  it('grows by what is missing, shrinks by being done anew, and rests at its target', () => {
    const at = paidPayment({ clawedBack: usd(40) });
    expect(decideClawback(at, usd(40))).toEqual({ kind: 'none' });
    expect(decideClawback(at, usd(70))).toEqual({ kind: 'take', amount: usd(30) });
    expect(decideClawback(at, usd(10))).toEqual({ kind: 'redo', amount: usd(10) });
    expect(decideClawback(at, nanoUsd(0n))).toEqual({ kind: 'redo', amount: 0n });
  });
});

const everything: readonly Report[] = [
  providerReport(session('open'), 1),
  providerReport(session('processing'), 2),
  providerReport(session('expired'), 2),
  providerReport(session('paid'), 3),
  providerReport(session('paid'), 4),
  providerReport(refunded(20), 5),
  providerReport(refunded(45), 6),
  providerReport(disputed('inquiry', 30), 7),
  providerReport(disputed('open', 30), 8),
  providerReport(disputed('won', 30), 9),
  providerReport(disputed('open', 25, { disputeRef: 'dp_2' }), 9),
  providerReport(disputed('lost', 25, { disputeRef: 'dp_2' }), 11),
];

it('what was said decides, not when or how often it arrived: every order, with any repetitions, ends the same', () => {
  const summary = (decision: Decision) => ({
    ...decision.payment,
    paidAt: null,
    disputes: decision.disputes.toSorted((a: Dispute, b: Dispute) => (a.ref < b.ref ? -1 : 1)),
    target: target(decision),
  });
  const start = payment({ state: 'created', sessionRef: null });
  const expected = summary(after(start, ...everything));
  expect(expected).toMatchObject({
    state: 'charged_back',
    credited: usd(100),
    refunded: usd(45),
    target: usd(70),
  });
  fc.assert(
    fc.property(
      fc.shuffledSubarray([...everything], { minLength: everything.length }),
      fc.array(fc.constantFrom(...everything), { maxLength: 20 }),
      (order, repeated) => {
        expect(summary(after(start, ...order, ...repeated))).toEqual(expected);
      },
    ),
    { numRuns: 500 },
  );
});
