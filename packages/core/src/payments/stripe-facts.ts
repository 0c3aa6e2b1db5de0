import { secondsToMs } from '@millrace/platform/money';
import { z } from 'zod';
import type { DisputeFact, FailedRefundFact, RefundFact, Report, SessionFact } from './payment.ts';

/**
 * Parses Stripe's objects into facts. Only used fields are parsed, so an endpoint with another API version works as
 * long as they mean the same. Data of the payer is not read.
 */

/** The metadata key of our payment id. Only holders of the secret key can write it. */
export const paymentIdField = 'millrace_payment_id';

const ref = z.string().min(1).max(255);
/** Stripe sends an id, or the whole object if expanded. */
const refOrObject = z.union([ref, z.object({ id: ref }).transform(({ id }) => id)]);
const cents = z.int().nonnegative();
const livemode = z.boolean();
const money = { payment_intent: refOrObject.nullish(), currency: z.string().toLowerCase() };

const session = z.object({
  ...money,
  id: ref,
  status: z.enum(['open', 'complete', 'expired']),
  payment_status: z.enum(['paid', 'unpaid', 'no_payment_required']),
  amount_total: cents,
  livemode,
  metadata: z.record(z.string(), z.string()).nullish(),
});
const charge = z.object({ ...money, amount_refunded: cents, livemode });
const refund = z.object({ ...money, id: ref, amount: cents, status: z.string().nullish() });
const dispute = z.object({ ...money, id: ref, amount: cents, status: z.string(), livemode });

const eventHead = z.object({
  id: ref,
  type: z.string().max(200),
  created: z.int().nonnegative(),
  livemode,
  data: z.object({ object: z.unknown() }),
});

export interface StripeEvent extends Report {
  readonly id: string;
  readonly type: string;
}

/** `ignored`: an irrelevant event. `malformed`: a used type without its required fields. */
export type EventReading =
  | { readonly kind: 'event'; readonly event: StripeEvent }
  | { readonly kind: 'ignored'; readonly type: string }
  | { readonly kind: 'malformed'; readonly why: string };

type FactReader = (object: unknown) => Report['fact'] | null;

const readers: Readonly<Record<string, FactReader>> = {
  'checkout.session.completed': (object) => readOwnSession(object),
  'checkout.session.async_payment_succeeded': (object) => readOwnSession(object),
  'checkout.session.async_payment_failed': (object) => readOwnSession(object, { failed: true }),
  'checkout.session.expired': (object) => readOwnSession(object),
  'charge.refunded': readRefund,
  'charge.refund.updated': readFailedRefund,
  'refund.updated': readFailedRefund,
  'refund.failed': readFailedRefund,
  'charge.dispute.created': readDispute,
  'charge.dispute.updated': readDispute,
  'charge.dispute.funds_withdrawn': readDispute,
  'charge.dispute.funds_reinstated': readDispute,
  'charge.dispute.closed': readDispute,
};

/** The webhook endpoint must be subscribed to these types. */
export const stripeEventTypes: readonly string[] = Object.keys(readers);

export function readEvent(json: unknown): EventReading {
  const head = eventHead.safeParse(json);
  if (!head.success) return { kind: 'malformed', why: z.prettifyError(head.error) };
  const { id, type, created, livemode, data } = head.data;
  const reader = Object.hasOwn(readers, type) ? readers[type] : undefined;
  if (reader === undefined) return { kind: 'ignored', type };
  try {
    const fact = reader(data.object);
    if (fact === null) return { kind: 'ignored', type };
    // Event and object should agree; if they do not, the money counts as test money.
    const live = livemode && fact.live;
    const occurredAt = new Date(secondsToMs(created));
    return { kind: 'event', event: { id, type, occurredAt, fact: { ...fact, live } } };
  } catch (error) {
    if (error instanceof z.ZodError) return { kind: 'malformed', why: `${type}: ${z.prettifyError(error)}` };
    throw error;
  }
}

const otherSession = z.object({ mode: z.enum(['setup', 'subscription']) });

/** Null for a session of another product: repeated errors would make Stripe disable the endpoint. */
function readOwnSession(object: unknown, options?: { readonly failed: boolean }): SessionFact | null {
  return otherSession.safeParse(object).success ? null : readSession(object, options);
}

export function readSession(object: unknown, { failed = false } = {}): SessionFact {
  const read = session.parse(object);
  return {
    kind: 'session',
    sessionRef: read.id,
    intentRef: read.payment_intent ?? null,
    claimedPayment: read.metadata?.[paymentIdField] ?? null,
    status: failed ? 'failed' : statusOf(read),
    amountCents: read.amount_total,
    currency: read.currency,
    live: read.livemode,
  };
}

/** A session without payment was changed at Stripe: it counts as paid, with an amount that cannot match. */
function statusOf({ status, payment_status }: z.output<typeof session>): SessionFact['status'] {
  if (status !== 'complete') return status;
  return payment_status === 'unpaid' ? 'processing' : 'paid';
}

/** Null for a charge without a PaymentIntent, which Millrace never creates. */
function readRefund(object: unknown): RefundFact | null {
  const read = charge.parse(object);
  if (read.payment_intent === null || read.payment_intent === undefined) return null;
  return {
    kind: 'refund',
    intentRef: read.payment_intent,
    refundedCents: read.amount_refunded,
    currency: read.currency,
    live: read.livemode,
  };
}

/** Null for a pending or successful refund: its total comes with the charge. Refund objects have no livemode. */
function readFailedRefund(object: unknown): FailedRefundFact | null {
  const read = refund.parse(object);
  if (read.status !== 'failed' && read.status !== 'canceled') return null;
  if (read.payment_intent === null || read.payment_intent === undefined) return null;
  return {
    kind: 'refund-failed',
    intentRef: read.payment_intent,
    refundRef: read.id,
    amountCents: read.amount,
    currency: read.currency,
    live: true,
  };
}

function readDispute(object: unknown): DisputeFact | null {
  const read = dispute.parse(object);
  if (read.payment_intent === null || read.payment_intent === undefined) return null;
  return {
    kind: 'dispute',
    intentRef: read.payment_intent,
    disputeRef: read.id,
    amountCents: read.amount,
    currency: read.currency,
    standing: standings[read.status] ?? 'open',
    live: read.livemode,
  };
}

/** An unknown status counts as open, so that money is rather held back than given away. */
const standings: Readonly<Record<string, DisputeFact['standing'] | undefined>> = {
  warning_needs_response: 'inquiry',
  warning_under_review: 'inquiry',
  warning_closed: 'won',
  needs_response: 'open',
  under_review: 'open',
  // An appeal starts after the loss; the bank keeps the money until the appeal is won.
  appeal_needs_response: 'lost',
  appeal_under_review: 'lost',
  won: 'won',
  lost: 'lost',
  prevented: 'won',
};
