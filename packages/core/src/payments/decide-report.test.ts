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

describe('checkout session report', () => {
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
  ])('turns a payment that is %s, with session status %s, into %s', (state, status, expected) => {
    const decision = decideReport(payment({ state }), [], providerReport(session(status)));
    expect(decision.payment.state).toBe(expected);
    expect(decision.payment.credited).toBe(0n);
  });

  it.each<PaymentState>(['created', 'open', 'processing', 'expired', 'failed'])(
    'credits a %s payment in full if it was paid as requested',
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
    ['a cent less', { amountCents: 9_999 }, /99990000000 nano-USD were paid instead of 100000000000/],
    ['a cent more', { amountCents: 10_001 }, /100010000000 nano-USD were paid/],
    ['nothing, by a coupon', { amountCents: 0 }, /0 nano-USD were paid/],
    ['the same number in another currency', { currency: 'eur' }, /paid in eur/],
  ])('with %s credits nothing, whatever is reported later', (_what, fields, why) => {
    const wrong = decideReport(payment(), [], providerReport(session('paid', fields)));
    expect(wrong).toMatchObject({ outcome: 'mismatch', payment: { state: 'mismatch', credited: 0n } });
    expect(wrong.why).toMatch(why);
    const later = after(wrong.payment, providerReport(session('paid')), providerReport(session('expired')));
    expect(later.payment).toMatchObject({ state: 'mismatch', credited: 0n });
  });

  it.each([
    ['test money for a payment in real money', payment(), session('paid', { live: false })],
    ['real money for a payment in test money', payment({ real: false }), session('paid')],
    ['another checkout session', payment(), session('paid', { sessionRef: 'cs_2' })],
    ['another intent', payment({ intentRef: 'pi_2' }), session('paid')],
  ])('about %s changes nothing and is a mismatch', (_what, before, fact) => {
    const decision = decideReport(before, [], providerReport(fact));
    expect(decision.outcome).toBe('mismatch');
    expect(decision.why).not.toBe('');
    expect(decision.payment).toBe(before);
  });

  it('that contradicts a credited payment is a mismatch and keeps the credit', () => {
    const before = paidPayment();
    const decision = decideReport(before, [], providerReport(session('paid', { amountCents: 1 })));
    expect(decision).toMatchObject({ outcome: 'mismatch', payment: { state: 'paid', credited: usd(100) } });
  });

  it('with the current state changes nothing', () => {
    expect(decideReport(paidPayment(), [], providerReport(session('paid'))).outcome).toBe('unchanged');
    expect(decideReport(payment(), [], providerReport(session('open'))).outcome).toBe('unchanged');
  });

  it('is awaited in the states created, open and processing', () => {
    const states: readonly PaymentState[] = ['created', 'open', 'processing', 'paid', 'expired', 'mismatch'];
    expect(states.filter(isUndecided)).toEqual(['created', 'open', 'processing']);
  });
});

describe('refund report', () => {
  it('is a total: repeated or older totals change nothing', () => {
    const decision = after(
      paidPayment(),
      providerReport(refunded(30)),
      providerReport(refunded(50)),
      providerReport(refunded(30)),
    );
    expect(decision).toMatchObject({ outcome: 'unchanged', payment: { state: 'paid', refunded: usd(50) } });
    expect(target(decision)).toBe(usd(50));
  });

  it('of the whole amount makes the payment refunded', () => {
    expect(after(paidPayment(), providerReport(refunded(100))).payment.state).toBe('refunded');
    expect(after(paidPayment(), providerReport(refunded(99.99))).payment.state).toBe('paid');
  });

  it('above the paid amount takes back all of it and is a mismatch', () => {
    const decision = after(paidPayment(), providerReport(refunded(100.01)));
    expect(decision).toMatchObject({ outcome: 'mismatch', payment: { state: 'refunded' } });
    expect(target(decision)).toBe(usd(100));
  });

  it('before the credit takes nothing back, and counts once the payment is credited', () => {
    const early = after(payment({ intentRef: 'pi_1' }), providerReport(refunded(40)));
    expect([early.payment.state, target(early)]).toEqual(['open', 0n]);
    const paid = after(early.payment, providerReport(session('paid')));
    expect([paid.payment.credited, target(paid)]).toEqual([usd(100), usd(40)]);
  });

  it('of a failed refund returns the credit, in any order and once', () => {
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

  it('after a failed refund counts, because its total excludes the failed one', () => {
    const reports = [
      providerReport(refunded(100), 1),
      providerReport(refundFailed(100), 5),
      providerReport(refunded(60), 9),
    ];
    for (const order of [reports, reports.toReversed()]) {
      expect(target(after(paidPayment(), ...order))).toBe(usd(60));
    }
  });

  it("with a lower total is followed, by the provider's clock", () => {
    const [high, low] = [providerReport(refunded(100), 1), providerReport(refunded(0), 2)];
    expect(target(after(paidPayment(), high, low))).toBe(0n);
    expect(target(after(paidPayment(), low, high))).toBe(0n);
  });

  it('of one failed part leaves the other part taken back', () => {
    const reports = [
      providerReport(refunded(30), 1),
      providerReport(refunded(80), 2),
      providerReport(refundFailed(50), 3),
    ];
    expect(target(after(paidPayment(), ...reports))).toBe(usd(30));
  });

  it('in another currency moves no money and is a mismatch', () => {
    const decision = after(paidPayment(), providerReport(refunded(40, { currency: 'eur' })));
    expect([decision.outcome, target(decision)]).toEqual(['mismatch', 0n]);
  });
});

describe('dispute report', () => {
  it.each<[DisputeStanding, PaymentState, number]>([
    ['inquiry', 'paid', 0],
    ['open', 'disputed', 60],
    ['lost', 'charged_back', 60],
    ['won', 'paid', 0],
  ])('with standing %s makes the payment %s and takes back %d USD', (standing, state, dollars) => {
    const decision = after(paidPayment(), providerReport(disputed(standing, 60)));
    expect([decision.outcome, decision.payment.state, target(decision)]).toEqual([
      'applied',
      state,
      usd(dollars),
    ]);
  });

  it('never takes back more than was credited, with any refunds and disputes', () => {
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

  it('with an older time than the last one is ignored', () => {
    const opened = providerReport(disputed('open'), 1);
    const closed = providerReport(disputed('won'), 2);
    expect(after(paidPayment(), opened, closed).payment.state).toBe('paid');
    expect(after(paidPayment(), closed, opened).payment.state).toBe('paid');
    expect(after(paidPayment(), closed, providerReport(disputed('lost'), 3)).payment.state).toBe(
      'charged_back',
    );
  });

  it('within the same second uses the later standing', () => {
    expect(
      after(paidPayment(), providerReport(disputed('lost')), providerReport(disputed('open'))).payment.state,
    ).toBe('charged_back');
    expect(
      after(paidPayment(), providerReport(disputed('inquiry')), providerReport(disputed('open'))).payment
        .state,
    ).toBe('disputed');
  });

  it('may change the disputed amount', () => {
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

  it('in another currency takes back the whole payment until the operator decides', () => {
    const decision = after(paidPayment(), providerReport(disputed('open', 1, { currency: 'eur' })));
    expect(decision).toMatchObject({ outcome: 'mismatch', payment: { state: 'disputed' } });
    expect([decision.why, target(decision)]).toEqual(['the dispute is in eur', usd(100)]);
  });
});

describe('decideClawback', () => {
  it('takes the difference, redoes a smaller target, and does nothing at the target', () => {
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

it('decideReport gives the same result for every order and repetition of the reports', () => {
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
