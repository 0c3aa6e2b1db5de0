import { secondsToMs } from '@millrace/platform/money';
import { z } from 'zod';
import type { DisputeFact, FailedRefundFact, RefundFact, Report, SessionFact } from './payment.ts';

/**
 * From Stripe's words to ours. Only the fields that are used are read, so that an endpoint set to another API version
 * works as long as these mean the same; whatever else an event holds, the payer's name and address included, is left.
 */

/** The name under which our id stands in the metadata of a session. Only holders of the secret key can write it. */
export const paymentIdField = 'millrace_payment_id';

const ref = z.string().min(1).max(255);
/** Stripe sends an id, or the whole object where it was asked to. */
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

/** `ignored`: not about anything of ours. `malformed`: of a type that we need, without what it must hold. */
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

/** What the webhook endpoint must be subscribed to. */
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
    // An event and its object always agree, where the object says; if they ever do not, only both together make money real.
    const live = livemode && fact.live;
    const occurredAt = new Date(secondsToMs(created));
    return { kind: 'event', event: { id, type, occurredAt, fact: { ...fact, live } } };
  } catch (error) {
    if (error instanceof z.ZodError) return { kind: 'malformed', why: `${type}: ${z.prettifyError(error)}` };
    throw error;
  }
}

const otherSession = z.object({ mode: z.enum(['setup', 'subscription']) });

/** Null for a page that another product made: refused again and again, it would make Stripe give up on the endpoint. */
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

/** A page that asked for no money was changed under our hands: it counts as paid, with an amount that cannot match. */
function statusOf({ status, payment_status }: z.output<typeof session>): SessionFact['status'] {
  if (status !== 'complete') return status;
  return payment_status === 'unpaid' ? 'processing' : 'paid';
}

/** Null for a charge that was made without a PaymentIntent: none of ours is. */
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

/** Null for a refund that is under way or done: its total comes with the charge. A refund does not say whether it is of real money. */
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

/** A status that Stripe adds later counts as open: money is held back rather than given away. */
const standings: Readonly<Record<string, DisputeFact['standing'] | undefined>> = {
  warning_needs_response: 'inquiry',
  warning_under_review: 'inquiry',
  warning_closed: 'won',
  needs_response: 'open',
  under_review: 'open',
  // An appeal begins after the loss; the money is away until it is won.
  appeal_needs_response: 'lost',
  appeal_under_review: 'lost',
  won: 'won',
  lost: 'lost',
  prevented: 'won',
};
