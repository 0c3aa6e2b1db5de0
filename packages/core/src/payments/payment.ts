import type { Mode } from '@millrace/platform/envelope';
import type { OrgId, PaymentId, TransferId } from '@millrace/platform/ids';
import type { NanoUsd } from '@millrace/platform/money';

/** The words of this feature as values. The provider's own words are turned into these at its edge. */

export type UndecidedState = 'created' | 'open' | 'processing';
export type UncreditedState = UndecidedState | 'expired' | 'failed' | 'mismatch';
export type CreditedState = 'paid' | 'refunded' | 'disputed' | 'charged_back';
export type PaymentState = UncreditedState | CreditedState;

export interface Payment {
  readonly id: PaymentId;
  readonly orgId: OrgId;
  readonly mode: Mode;
  /** Asked for where the provider moves real money, not on its test side. */
  readonly real: boolean;
  readonly state: PaymentState;
  readonly amount: NanoUsd;
  /** The provider's payment page; null until its id is stored here. */
  readonly sessionRef: string | null;
  /** The provider's payment, by which refunds and disputes name it. */
  readonly intentRef: string | null;
  readonly successUrl: string;
  readonly cancelUrl: string;
  readonly checkoutUrl: string | null;
  readonly credited: NanoUsd;
  /** Refunded and not failed, as the two below say. */
  readonly refunded: NanoUsd;
  readonly refundReport: RefundReport;
  readonly failedRefunds: readonly FailedRefund[];
  readonly clawedBack: NanoUsd;
  /** The part of the clawback that was not free when it was taken: a debt, which the ledger keeps from then on. */
  readonly shortfall: NanoUsd;
  /** The transfers that took it back and were not undone. */
  readonly clawbackTransfers: readonly TransferId[];
  /** Counts the ledger commands after the credit. */
  readonly moneySteps: number;
  readonly createdAt: Date;
  readonly paidAt: Date | null;
  /** How often the provider was asked about it. */
  readonly checks: number;
}

/** The newest total of refunds that the provider reported. */
export interface RefundReport {
  readonly total: NanoUsd;
  /** By the provider's clock; null: never, or before this was recorded. */
  readonly reportedAt: Date | null;
}

/** A refund that the bank did not carry out, so that the money is still here. */
export interface FailedRefund {
  readonly ref: string;
  readonly amount: NanoUsd;
  readonly reportedAt: Date;
}

/** `inquiry`: no money has moved. `open`, `lost`: it is gone. `won`: it is back, or never went. */
export type DisputeStanding = 'inquiry' | 'open' | 'won' | 'lost';

export interface Dispute {
  readonly ref: string;
  readonly amount: NanoUsd;
  readonly standing: DisputeStanding;
  /** When the provider said so, by its clock. */
  readonly reportedAt: Date;
}

interface ProviderFact {
  /** Real money, not the provider's play money. */
  readonly live: boolean;
  readonly currency: string;
}

/** What the provider says of a payment page. */
export interface SessionFact extends ProviderFact {
  readonly kind: 'session';
  readonly sessionRef: string;
  readonly intentRef: string | null;
  /** The payment that the page says it was made for. Believed only where our own row leaves room for it. */
  readonly claimedPayment: string | null;
  readonly status: 'open' | 'paid' | 'processing' | 'failed' | 'expired';
  readonly amountCents: number;
}

/** What the provider says was paid back, in all, so far. */
export interface RefundFact extends ProviderFact {
  readonly kind: 'refund';
  readonly intentRef: string;
  readonly refundedCents: number;
}

/** What the provider says of a refund that it reported before and that failed or was cancelled. */
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

/** A fact and when it became one, by the provider's clock. */
export interface Report {
  readonly fact: PaymentFact;
  readonly occurredAt: Date;
}

export type ReportOutcome = 'applied' | 'unchanged' | 'unmatched' | 'mismatch';
