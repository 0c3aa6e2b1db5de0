import { readFileSync } from 'node:fs';
import Stripe from 'stripe';
import { describe, expect, it } from 'vitest';
import { readEvent, readSession, stripeEventTypes } from './stripe-facts.ts';

const session = {
  id: 'cs_1',
  object: 'checkout.session',
  status: 'complete',
  payment_status: 'paid',
  payment_intent: 'pi_1',
  amount_total: 2_500,
  currency: 'USD',
  livemode: true,
  metadata: { millrace_payment_id: 'pay_1' },
  customer_details: { email: 'ada@example.com', name: 'Ada' },
};
const charge = { id: 'ch_1', payment_intent: 'pi_1', amount_refunded: 100, currency: 'usd', livemode: true };
const dispute = {
  id: 'dp_1',
  payment_intent: { id: 'pi_1' },
  amount: 900,
  currency: 'usd',
  status: 'needs_response',
  livemode: true,
};
const event = (type: string, object: unknown, fields: object = {}) => ({
  id: 'evt_1',
  object: 'event',
  type,
  created: 1_767_225_600,
  livemode: true,
  data: { object },
  ...fields,
});
const factOf = (type: string, object: unknown, fields: object = {}) => {
  const reading = readEvent(event(type, object, fields));
  return reading.kind === 'event' ? reading.event.fact : reading;
};

describe('readEvent', () => {
  it('reads only the fields it uses, and no data of the payer', () => {
    const reading = readEvent(event('checkout.session.completed', session));
    expect(reading).toEqual({
      kind: 'event',
      event: {
        id: 'evt_1',
        type: 'checkout.session.completed',
        occurredAt: new Date(1_767_225_600_000),
        fact: {
          kind: 'session',
          sessionRef: 'cs_1',
          intentRef: 'pi_1',
          claimedPayment: 'pay_1',
          status: 'paid',
          amountCents: 2_500,
          currency: 'usd',
          live: true,
        },
      },
    });
    expect(JSON.stringify(reading)).not.toContain('ada@example.com');
  });

  it.each([
    ['complete', 'paid', 'paid'],
    ['complete', 'no_payment_required', 'paid'],
    ['complete', 'unpaid', 'processing'],
    ['open', 'unpaid', 'open'],
    ['open', 'paid', 'open'],
    ['expired', 'unpaid', 'expired'],
  ])('reads a session that is %s and %s as %s', (status, payment_status, expected) => {
    expect(readSession({ ...session, status, payment_status }).status).toBe(expected);
  });

  it('reads a payment that the bank refused as failed, whatever the session status', () => {
    const unpaid = { ...session, payment_status: 'unpaid' };
    expect(factOf('checkout.session.async_payment_failed', unpaid)).toMatchObject({ status: 'failed' });
  });

  it('reads the total of a refund', () => {
    expect(factOf('charge.refunded', charge)).toEqual({
      kind: 'refund',
      intentRef: 'pi_1',
      refundedCents: 100,
      currency: 'usd',
      live: true,
    });
  });

  it('reads a failed or cancelled refund, and ignores others because the charge has their total', () => {
    const refund = { id: 're_1', payment_intent: 'pi_1', amount: 100, currency: 'usd', status: 'failed' };
    for (const type of ['refund.failed', 'refund.updated', 'charge.refund.updated']) {
      expect(factOf(type, refund)).toEqual({
        kind: 'refund-failed',
        intentRef: 'pi_1',
        refundRef: 're_1',
        amountCents: 100,
        currency: 'usd',
        live: true,
      });
    }
    expect(factOf('refund.updated', { ...refund, status: 'canceled' })).toMatchObject({ refundRef: 're_1' });
    expect(readEvent(event('refund.updated', { ...refund, status: 'pending' })).kind).toBe('ignored');
  });

  it.each([
    ['warning_needs_response', 'inquiry'],
    ['warning_under_review', 'inquiry'],
    ['warning_closed', 'won'],
    ['needs_response', 'open'],
    ['under_review', 'open'],
    ['appeal_needs_response', 'lost'],
    ['appeal_under_review', 'lost'],
    ['won', 'won'],
    ['lost', 'lost'],
    ['prevented', 'won'],
    ['a status of the future', 'open'],
  ])('reads the dispute status %s as %s', (status, standing) => {
    expect(factOf('charge.dispute.updated', { ...dispute, status })).toMatchObject({
      kind: 'dispute',
      disputeRef: 'dp_1',
      intentRef: 'pi_1',
      amountCents: 900,
      standing,
    });
  });

  it('reads money as live only if the event and its object both say so', () => {
    const type = 'checkout.session.completed';
    expect(factOf(type, session, { livemode: false })).toMatchObject({ live: false });
    expect(factOf(type, { ...session, livemode: false })).toMatchObject({ live: false });
  });

  it.each([
    ['an unused type', event('customer.created', {})],
    ['a type that is a property of every object', event('toString', {})],
    ['a charge without a PaymentIntent', event('charge.refunded', { ...charge, payment_intent: null })],
    [
      'a session of another product without payment',
      event('checkout.session.completed', {
        ...session,
        mode: 'setup',
        payment_intent: null,
        amount_total: null,
        currency: null,
      }),
    ],
    [
      'a dispute without a PaymentIntent',
      event('charge.dispute.created', { ...dispute, payment_intent: null }),
    ],
  ])('ignores %s', (_what, json) => {
    expect(readEvent(json)).toEqual({ kind: 'ignored', type: json.type });
  });

  it.each([
    ['no event fields', { hello: 1 }],
    ['no object', event('charge.refunded', null)],
    ['an amount that is not whole', event('charge.refunded', { ...charge, amount_refunded: 1.5 })],
    ['a negative amount', event('checkout.session.completed', { ...session, amount_total: -1 })],
    ['no amount', event('checkout.session.completed', { ...session, amount_total: null })],
  ])('reports an event with %s as malformed, so that Stripe repeats it', (_what, json) => {
    expect(readEvent(json)).toMatchObject({ kind: 'malformed' });
  });
});

it('the running guide lists the event types and API version that are used', () => {
  const guide = readFileSync(new URL('../../../../docs/guides/running.md', import.meta.url), 'utf8');
  for (const type of stripeEventTypes) expect(guide).toContain(`\`${type}\``);
  expect(guide).toContain(`API version \`${Stripe.API_VERSION}\``);
});
