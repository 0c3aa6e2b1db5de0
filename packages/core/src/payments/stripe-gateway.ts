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

/** All calls to Stripe. */
export interface StripeGateway {
  readonly live: boolean;
  /** Creates the checkout session of a payment. Idempotent. */
  openCheckout(payment: Payment): Promise<OpenedCheckout>;
  readCheckout(sessionRef: string): Promise<SessionFact>;
  /** Sessions created since then that Stripe reports as paid; throws at a thousand or more. */
  listPaid(since: Date): Promise<readonly SessionFact[]>;
  /** Verifies the signature over the exact bytes and its age by `nowMs`. */
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
      // Stripe deletes a key after a day at the earliest; older payments are never requested again.
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
        throw new Error(`Stripe has ${PAID_MAX} payments or more. Compare them manually.`);
      }
      return pages.map((page) => readSession(page)).filter(({ status }) => status === 'paid');
    },

    verify: (body, signature, nowMs) => {
      if (signature === undefined) throw new Fault('WEBHOOK_SIGNATURE_INVALID');
      try {
        const { webhookSecret: secret } = settings;
        return stripe.webhooks.constructEvent(body, signature, secret, TOLERANCE_SECONDS, undefined, nowMs);
      } catch (error) {
        // The signature is valid, so the error is in reading the event.
        const signed = !(error instanceof Stripe.errors.StripeSignatureVerificationError);
        throw new Fault(signed ? 'WEBHOOK_EVENT_INVALID' : 'WEBHOOK_SIGNATURE_INVALID', { cause: error });
      }
    },
  };
}

/** Uses only the payment's row, because an idempotent repetition must be identical. */
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
    // Without this, the payer could use another currency and amounts could not be compared.
    adaptive_pricing: { enabled: false },
    success_url: payment.successUrl,
    cancel_url: payment.cancelUrl,
  };
}

/** A session can be complete while the bank decides. If the bank refuses, the intent requires another method. */
function hasFailed(session: Stripe.Checkout.Session): boolean {
  const { payment_intent: intent, status } = session;
  if (status !== 'complete' || intent === null || typeof intent === 'string') return false;
  return intent.status === 'requires_payment_method' || intent.status === 'canceled';
}

/** Distinguishes errors that a retry may solve from permanent ones. Stripe's message goes to the log only. */
function throwFault(error: unknown): never {
  const { StripeError, StripeInvalidRequestError, StripeIdempotencyError } = Stripe.errors;
  if (!(error instanceof StripeError)) throw error;
  if (error instanceof StripeInvalidRequestError || error instanceof StripeIdempotencyError) {
    throw new Fault('PAYMENT_PROVIDER_REFUSED', { cause: error });
  }
  throw new Fault('PAYMENT_PROVIDER_UNAVAILABLE', { cause: error, retryAfterSeconds: 5 });
}
