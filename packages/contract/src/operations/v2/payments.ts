import { z } from 'zod';
import {
  explicitOperation,
  nanoUsd,
  v2Operation,
  pageOf,
  pageQuery,
  prefixedId,
  timestamp,
} from '../../operation-builders.ts';

/** Top-ups through Stripe Checkout, and the webhook at which Stripe reports payments. */

const paymentId = prefixedId('pay', 'a top-up');

export const topUpMinCents = 500;
export const topUpMaxCents = 1_000_000;

/** A return address. https only and without credentials, because the address is shown and stored as sent. */
const returnUrl = z
  .url({ protocol: /^https$/, hostname: z.regexes.domain })
  .max(2_000)
  .refine((text) => !/^https:\/\/[^/?#]*@/.test(text), 'must not contain a user name or password');

const topUpState = z
  .enum([
    'created',
    'open',
    'processing',
    'paid',
    'expired',
    'failed',
    'mismatch',
    'refunded',
    'disputed',
    'charged_back',
  ])
  .meta({ id: 'TopUpState', 'x-extensible': true });

const topUp = z
  .object({
    paymentId,
    state: topUpState,
    amountCents: z.int().positive(),
    amountNanoUsd: nanoUsd,
    refundedNanoUsd: nanoUsd.meta({ description: 'The amount refunded to the card so far.' }),
    checkoutUrl: z.url().nullable().meta({
      description: 'Where to pay. Null before the payment page exists and after it has expired.',
    }),
    createdAt: timestamp,
    paidAt: timestamp.nullable(),
  })
  .meta({ id: 'TopUp' });

export const paymentOperations = {
  createTopUp: v2Operation('POST /v2/customer/top-ups', {
    scope: 'billing:write',
    summary: 'Start a top-up and get its payment page',
    description:
      'The balance changes when the payment is confirmed and `balance.topped_up` is sent; a redirect to `successUrl` proves nothing. The same `Idempotency-Key` always leads to the same payment page.',
    tags: ['customer'],
    body: z
      .object({
        amountCents: z
          .int()
          .min(topUpMinCents)
          .max(topUpMaxCents)
          .meta({ description: 'In US cents: from 5 to 10 000 USD.', examples: [2_500] }),
        successUrl: returnUrl.optional().meta({
          description: 'Where to go after payment. Default: the console.',
        }),
        cancelUrl: returnUrl.optional().meta({
          description: 'Where to go after cancelling. Default: successUrl.',
        }),
      })
      .meta({ id: 'TopUpCreate' }),
    response: { status: 201, schema: topUp },
    refuses: [404, 409, 422],
    idempotency: 'key',
  }),
  listTopUps: v2Operation('GET /v2/customer/top-ups', {
    scope: 'billing:read',
    summary: 'List top-ups, newest first',
    tags: ['customer'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(topUp) },
  }),
  getTopUp: v2Operation('GET /v2/customer/top-ups/{paymentId}', {
    scope: 'billing:read',
    summary: 'Read a top-up',
    tags: ['customer'],
    params: z.object({ paymentId }),
    response: { status: 200, schema: topUp },
    notFoundReason: 'TOP_UP_NOT_FOUND',
  }),
  receiveStripeEvent: explicitOperation('POST /v2/payments/stripe/webhook', {
    document: 'v2',
    source: 'own',
    errorFamily: 'v2',
    auth: 'none',
    scope: null,
    summary: 'Receive payment events from Stripe',
    description:
      'For Stripe only: the header `Stripe-Signature` must sign the exact bytes of the body. A success means that the event is stored and its effect on the ledger committed; after any other status, Stripe repeats the event.',
    tags: ['payments'],
    signedBody: true,
    body: z.looseObject({ id: z.string().max(255), type: z.string().max(255) }).meta({ id: 'StripeEvent' }),
    response: { status: 200, schema: z.object({ received: z.literal(true) }) },
    errors: [400, 404, 413, 429, 500, 503],
  }),
} as const;
