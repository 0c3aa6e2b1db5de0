import { nanoUsd } from '@millrace/platform/money';
import { testIds } from '@millrace/testing';
import { describe, expect, it } from 'vitest';
import type { LedgerSuccess } from '../ledger/index.ts';
import type { Dispute } from './payment.ts';
import { paidPayment, payment, usd } from './payments.fixture.ts';
import { settlePayment } from './ledger-settlement.ts';

const done = (fields: Partial<LedgerSuccess> = {}): LedgerSuccess => ({
  ok: true,
  replayed: false,
  transferId: testIds.next('trf'),
  holdId: null,
  amount: nanoUsd(0n),
  held: nanoUsd(0n),
  shortfall: nanoUsd(0n),
  balanceAfter: nanoUsd(0n),
  ...fields,
});
const open = (amount: Dispute['amount']): Dispute => ({
  ref: 'dp_1',
  amount,
  standing: 'open',
  reportedAt: new Date(0),
});

describe('settlePayment', () => {
  it('credits a payment once, from payments_clearing, with the payment as cause', () => {
    const before = payment();
    const after = { ...paidPayment(), id: before.id, orgId: before.orgId };
    const { commands, settled } = settlePayment(before, after, []);
    expect(commands).toEqual([
      {
        do: 'credit',
        kind: 'top_up',
        orgId: before.orgId,
        mode: 'live',
        cause: { kind: 'payment', id: before.id },
        step: 'paid',
        amount: usd(100),
        from: [{ account: { kind: 'payments_clearing' }, amount: usd(100) }],
        description: 'Top-up by card',
      },
    ]);
    expect(settled([done()])).toEqual(after);
    expect(settlePayment(after, after, []).commands).toEqual([]);
  });

  it('takes the amount missing to the target, and records its transfers and shortfall', () => {
    const first = paidPayment({ refunded: usd(30) });
    const take = settlePayment(first, first, []);
    expect(take.commands).toMatchObject([
      { do: 'debit', kind: 'clawback', step: 'clawback:1', amount: usd(30), whenShort: 'shortfall' },
    ]);
    const one = done({ shortfall: usd(5) });
    const after = take.settled([one]);
    expect(after).toMatchObject({
      clawedBack: usd(30),
      shortfall: usd(5),
      clawbackTransfers: [one.transferId],
      moneySteps: 1,
    });

    const more = settlePayment(after, after, [open(usd(60))]);
    expect(more.commands).toMatchObject([{ step: 'clawback:2', amount: usd(60) }]);
    const two = done({ shortfall: usd(60) });
    expect(more.settled([two])).toMatchObject({
      clawedBack: usd(90),
      shortfall: usd(65),
      clawbackTransfers: [one.transferId, two.transferId],
      moneySteps: 2,
    });
  });

  it('returns money by undoing every transfer and taking the rest again', () => {
    const taken = [testIds.next('trf'), testIds.next('trf')];
    const before = paidPayment({
      refunded: usd(40),
      clawedBack: usd(100),
      shortfall: usd(70),
      clawbackTransfers: taken,
      moneySteps: 2,
    });
    const { commands, settled } = settlePayment(before, before, []);
    expect(commands).toMatchObject([
      { do: 'reverse', step: 'return:3', transferId: taken[0] },
      { do: 'reverse', step: 'return:4', transferId: taken[1] },
      { do: 'debit', step: 'clawback:5', amount: usd(40) },
    ]);
    const again = done({ shortfall: usd(10) });
    expect(settled([done(), done(), again])).toMatchObject({
      clawedBack: usd(40),
      shortfall: usd(10),
      clawbackTransfers: [again.transferId],
      moneySteps: 5,
    });
  });

  it('accepts a clawback that an operator has undone, and throws for any other refusal', () => {
    const transferId = testIds.next('trf');
    const before = paidPayment({ clawedBack: usd(100), clawbackTransfers: [transferId], moneySteps: 1 });
    const { commands, settled } = settlePayment(before, before, []);
    expect(commands).toHaveLength(1);
    const rejected = { ok: false, available: null, budgetId: null } as const;
    expect(settled([{ ...rejected, reason: 'TRANSFER_NOT_REVERSIBLE' }])).toMatchObject({
      clawedBack: 0n,
      clawbackTransfers: [],
    });
    expect(() => settled([{ ...rejected, reason: 'STEP_REUSED' }])).toThrow('refused');
    const credit = settlePayment(payment(), paidPayment(), []);
    expect(() => credit.settled([{ ...rejected, reason: 'STEP_REUSED' }])).toThrow('refused');
  });
});
