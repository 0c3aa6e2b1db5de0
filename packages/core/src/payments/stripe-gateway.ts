import { Fault } from '@millrace/platform/fault';
import { msToSeconds, toCents } from '@millrace/platform/money';
import Stripe from 'stripe';
import type { Payment, SessionFact } from './payment.ts';
import { paymentIdField, readSession } from './stripe-facts.ts';

export interface StripeSettings {
  readonly secretKey: string;
  readonly webhookSecret: string;
  readonly apiUrl: string;
}

export interface OpenedCheckout {
  readonly sessionRef: string;
  readonly url: string | null;
}

/** Everything that is ever asked of Stripe. */
export interface StripeGateway {
  /** The key moves real money. */
  readonly live: boolean;
  /** Makes the payment page of a payment; asked again, answers the same page. */
  openCheckout(payment: Payment): Promise<OpenedCheckout>;
  readCheckout(sessionRef: string): Promise<SessionFact>;
  /** Pages made since then of which Stripe says that they were paid, at most a thousand. */
  listPaid(since: Date): Promise<readonly SessionFact[]>;
  /** The event that this body is, or a refusal: the signature must fit the bytes, and be recent by `nowMs`. */
  verify(body: string, signature: string | undefined, nowMs: number): unknown;
}

const TIMEOUT_MS = 8_000;
const RETRIES = 2;
const PAID_MAX = 1_000;
const TOLERANCE_SECONDS = 300;

export function createStripeGateway(settings: StripeSettings): StripeGateway {
  const { protocol, hostname, port } = new URL(settings.apiUrl);
  const stripe = new Stripe(settings.secretKey, {
    host: hostname,
    protocol: protocol === 'http:' ? 'http' : 'https',
    ...(port === '' ? {} : { port }),
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
  });
  const { sessions } = stripe.checkout;
  return {
    live: /^(sk|rk)_live_/.test(settings.secretKey),

    openCheckout: async (payment) => {
      // Stripe forgets a key after a day at the earliest; a payment that old is never asked for again.
      const idempotencyKey = `checkout-${payment.id}`;
      const made = await sessions.create(sessionFor(payment), { idempotencyKey }).catch(throwFault);
      return { sessionRef: made.id, url: made.url };
    },

    readCheckout: async (sessionRef) => {
      const found = await sessions.retrieve(sessionRef, { expand: ['payment_intent'] }).catch(throwFault);
      return readSession(found, { failed: hasFailed(found) });
    },

    listPaid: async (since) => {
      const created = { gte: Math.trunc(msToSeconds(since.getTime())) };
      const found = sessions.list({ created, status: 'complete', limit: 100 });
      const pages = await found.autoPagingToArray({ limit: PAID_MAX }).catch(throwFault);
      if (pages.length >= PAID_MAX) {
        throw new Error(`Stripe has ${PAID_MAX} payments or more: compare them by hand.`);
      }
      return pages.map((page) => readSession(page)).filter(({ status }) => status === 'paid');
    },

    verify: (body, signature, nowMs) => {
      if (signature === undefined) throw new Fault('WEBHOOK_SIGNATURE_INVALID');
      try {
        const { webhookSecret: secret } = settings;
        return stripe.webhooks.constructEvent(body, signature, secret, TOLERANCE_SECONDS, undefined, nowMs);
      } catch (error) {
        // Signed, but no event: what signs is Stripe's, so it is our reading that fails.
        const signed = !(error instanceof Stripe.errors.StripeSignatureVerificationError);
        throw new Fault(signed ? 'WEBHOOK_EVENT_INVALID' : 'WEBHOOK_SIGNATURE_INVALID', { cause: error });
      }
    },
  };
}

/** Follows from the payment's row alone, because an idempotent repetition must be word for word the same. */
function sessionFor(payment: Payment): Stripe.Checkout.SessionCreateParams {
  const metadata = { [paymentIdField]: payment.id };
  return {
    mode: 'payment',
    ui_mode: 'hosted_page',
    client_reference_id: payment.id,
    metadata,
    payment_intent_data: { metadata },
    line_items: [
      {
        quantity: 1,
        price_data: {
          currency: 'usd',
          unit_amount: Number(toCents(payment.amount, 'down')),
          product_data: { name: 'Credit' },
        },
      },
    ],
    // Paid in the currency that was asked for, or the amounts could not be compared.
    adaptive_pricing: { enabled: false },
    success_url: payment.successUrl,
    cancel_url: payment.cancelUrl,
  };
}

/** A page can be complete while the bank still decides. When it has refused, the intent asks for another method. */
function hasFailed(session: Stripe.Checkout.Session): boolean {
  const { payment_intent: intent, status } = session;
  if (status !== 'complete' || intent === null || typeof intent === 'string') return false;
  return intent.status === 'requires_payment_method' || intent.status === 'canceled';
}

/** Refusals that a repetition may cure, and those that none will. Stripe's own words go to the log, not to the caller. */
function throwFault(error: unknown): never {
  const { StripeError, StripeInvalidRequestError, StripeIdempotencyError } = Stripe.errors;
  if (!(error instanceof StripeError)) throw error;
  if (error instanceof StripeInvalidRequestError || error instanceof StripeIdempotencyError) {
    throw new Fault('PAYMENT_PROVIDER_REFUSED', { cause: error });
  }
  throw new Fault('PAYMENT_PROVIDER_UNAVAILABLE', { cause: error, retryAfterSeconds: 5 });
}
