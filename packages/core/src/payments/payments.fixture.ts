import { fromCents, zeroUsd } from '@millrace/platform/money';
import { testIds } from '@millrace/testing';
import type {
  DisputeFact,
  FailedRefundFact,
  Payment,
  PaymentFact,
  RefundFact,
  Report,
  SessionFact,
  DisputeStanding,
} from './payment.ts';

/** Payments and provider reports for unit tests. */

export const usd = (dollars: number) => fromCents(BigInt(Math.round(dollars * 100)));

const startMs = Date.UTC(2026, 0, 1);

export function payment(fields: Partial<Payment> = {}): Payment {
  return {
    id: testIds.next('pay'),
    orgId: testIds.next('org'),
    mode: 'live',
    real: true,
    state: 'open',
    amount: usd(100),
    sessionRef: 'cs_1',
    intentRef: null,
    successUrl: 'https://console.example.com',
    cancelUrl: 'https://console.example.com',
    checkoutUrl: 'https://checkout.example.com/cs_1',
    credited: zeroUsd,
    refunded: zeroUsd,
    refundReport: { total: zeroUsd, reportedAt: null },
    failedRefunds: [],
    clawedBack: zeroUsd,
    shortfall: zeroUsd,
    clawbackTransfers: [],
    moneySteps: 0,
    createdAt: new Date(startMs),
    paidAt: null,
    checks: 0,
    ...fields,
  };
}

export function paidPayment(fields: Partial<Payment> = {}): Payment {
  const paid = { state: 'paid', intentRef: 'pi_1', credited: usd(100), paidAt: new Date(startMs) } as const;
  return payment({ ...paid, ...fields });
}

export function providerReport(fact: PaymentFact, second = 0): Report {
  return { fact, occurredAt: new Date(startMs + second * 1_000) };
}

export function session(status: SessionFact['status'], fields: Partial<SessionFact> = {}): SessionFact {
  return {
    kind: 'session',
    sessionRef: 'cs_1',
    intentRef: status === 'open' || status === 'expired' ? null : 'pi_1',
    claimedPayment: null,
    status,
    amountCents: 10_000,
    currency: 'usd',
    live: true,
    ...fields,
  };
}

export function refunded(dollars: number, fields: Partial<RefundFact> = {}): RefundFact {
  const refundedCents = Math.round(dollars * 100);
  return { kind: 'refund', intentRef: 'pi_1', refundedCents, currency: 'usd', live: true, ...fields };
}

export function refundFailed(dollars: number, fields: Partial<FailedRefundFact> = {}): FailedRefundFact {
  const amountCents = Math.round(dollars * 100);
  return {
    kind: 'refund-failed',
    intentRef: 'pi_1',
    refundRef: 're_1',
    amountCents,
    currency: 'usd',
    live: true,
    ...fields,
  };
}

export function disputed(
  standing: DisputeStanding,
  dollars = 100,
  fields: Partial<DisputeFact> = {},
): DisputeFact {
  return {
    kind: 'dispute',
    intentRef: 'pi_1',
    disputeRef: 'dp_1',
    amountCents: Math.round(dollars * 100),
    currency: 'usd',
    live: true,
    standing,
    ...fields,
  };
}
