import type { Mode } from '@millrace/platform/envelope';
import type { OrgId, PaymentId, TransferId } from '@millrace/platform/ids';
import type { NanoUsd } from '@millrace/platform/money';

/** Domain types of payments, disputes and provider reports. */

export type UndecidedState = 'created' | 'open' | 'processing';
export type UncreditedState = UndecidedState | 'expired' | 'failed' | 'mismatch';
export type CreditedState = 'paid' | 'refunded' | 'disputed' | 'charged_back';
export type PaymentState = UncreditedState | CreditedState;

export interface Payment {
  readonly id: PaymentId;
  readonly orgId: OrgId;
  readonly mode: Mode;
  /** Whether the provider moves real money for it, instead of test money. */
  readonly real: boolean;
  readonly state: PaymentState;
  readonly amount: NanoUsd;
  /** The checkout session; null until its id is stored. */
  readonly sessionRef: string | null;
  /** The provider's payment id, which refunds and disputes name. */
  readonly intentRef: string | null;
  readonly successUrl: string;
  readonly cancelUrl: string;
  readonly checkoutUrl: string | null;
  readonly credited: NanoUsd;
  /** Derived from `refundReport` and `failedRefunds`. */
  readonly refunded: NanoUsd;
  readonly refundReport: RefundReport;
  readonly failedRefunds: readonly FailedRefund[];
  readonly clawedBack: NanoUsd;
  /** The part of the clawback that was not covered. The ledger tracks it as a debt. */
  readonly shortfall: NanoUsd;
  /** Clawback transfers that were not undone. */
  readonly clawbackTransfers: readonly TransferId[];
  readonly moneySteps: number;
  readonly createdAt: Date;
  readonly paidAt: Date | null;
  readonly checks: number;
}

export interface RefundReport {
  readonly total: NanoUsd;
  /** By the provider's clock; null if there was no report, or before this column existed. */
  readonly reportedAt: Date | null;
}

/** A refund that the bank did not carry out, so the money stayed. */
export interface FailedRefund {
  readonly ref: string;
  readonly amount: NanoUsd;
  readonly reportedAt: Date;
}

/** `inquiry`: no money moved. `open`, `lost`: the bank took the money. `won`: it was returned or never taken. */
export type DisputeStanding = 'inquiry' | 'open' | 'won' | 'lost';

export interface Dispute {
  readonly ref: string;
  readonly amount: NanoUsd;
  readonly standing: DisputeStanding;
  /** By the provider's clock. */
  readonly reportedAt: Date;
}

interface ProviderFact {
  /** Real money, not test money of the provider. */
  readonly live: boolean;
  readonly currency: string;
}

export interface SessionFact extends ProviderFact {
  readonly kind: 'session';
  readonly sessionRef: string;
  readonly intentRef: string | null;
  /** The payment id in the session's metadata. Trusted only if that payment has no session yet. */
  readonly claimedPayment: string | null;
  readonly status: 'open' | 'paid' | 'processing' | 'failed' | 'expired';
  readonly amountCents: number;
}

/** The total of all refunds so far. */
export interface RefundFact extends ProviderFact {
  readonly kind: 'refund';
  readonly intentRef: string;
  readonly refundedCents: number;
}

/** A refund that was reported before and then failed or was cancelled. */
export interface FailedRefundFact extends ProviderFact {
  readonly kind: 'refund-failed';
  readonly intentRef: string;
  readonly refundRef: string;
  readonly amountCents: number;
}

export interface DisputeFact extends ProviderFact {
  readonly kind: 'dispute';
  readonly intentRef: string;
  readonly disputeRef: string;
  readonly amountCents: number;
  readonly standing: DisputeStanding;
}

export type PaymentFact = SessionFact | RefundFact | FailedRefundFact | DisputeFact;

/** A fact with its time by the provider's clock. */
export interface Report {
  readonly fact: PaymentFact;
  readonly occurredAt: Date;
}

export type ReportOutcome = 'applied' | 'unchanged' | 'unmatched' | 'mismatch';
