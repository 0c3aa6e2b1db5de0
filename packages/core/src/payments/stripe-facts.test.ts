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

describe('an event', () => {
  it('is read for what is used of it and nothing else, least of all the payer', () => {
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
  ])('about a session that is %s and %s says %s', (status, payment_status, expected) => {
    expect(readSession({ ...session, status, payment_status }).status).toBe(expected);
  });

  it('about a payment that the bank refused says so, whatever the session holds', () => {
    const unpaid = { ...session, payment_status: 'unpaid' };
    expect(factOf('checkout.session.async_payment_failed', unpaid)).toMatchObject({ status: 'failed' });
  });

  it('about a refund carries the total', () => {
    expect(factOf('charge.refunded', charge)).toEqual({
      kind: 'refund',
      intentRef: 'pi_1',
      refundedCents: 100,
      currency: 'usd',
      live: true,
    });
  });

  it('about a refund that failed or was cancelled says so, and leaves others to the total of the charge', () => {
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
  ])('about a dispute with the status %s takes it for %s', (status, standing) => {
    expect(factOf('charge.dispute.updated', { ...dispute, status })).toMatchObject({
      kind: 'dispute',
      disputeRef: 'dp_1',
      intentRef: 'pi_1',
      amountCents: 900,
      standing,
    });
  });

  it('is real money only when the event and its object both say so', () => {
    const type = 'checkout.session.completed';
    expect(factOf(type, session, { livemode: false })).toMatchObject({ live: false });
    expect(factOf(type, { ...session, livemode: false })).toMatchObject({ live: false });
  });

  it.each([
    ['a type that we do not need', event('customer.created', {})],
    ['a type that every object inherits', event('toString', {})],
    ['a charge that no page of ours made', event('charge.refunded', { ...charge, payment_intent: null })],
    [
      'a page of another product that takes no money',
      event('checkout.session.completed', {
        ...session,
        mode: 'setup',
        payment_intent: null,
        amount_total: null,
        currency: null,
      }),
    ],
    ['a dispute about such a charge', event('charge.dispute.created', { ...dispute, payment_intent: null })],
  ])('of %s is left alone', (_what, json) => {
    expect(readEvent(json)).toEqual({ kind: 'ignored', type: json.type });
  });

  it.each([
    ['no event at all', { hello: 1 }],
    ['no object', event('charge.refunded', null)],
    ['an amount that is not whole', event('charge.refunded', { ...charge, amount_refunded: 1.5 })],
    ['a negative amount', event('checkout.session.completed', { ...session, amount_total: -1 })],
    ['no amount', event('checkout.session.completed', { ...session, amount_total: null })],
  ])('with %s is refused, so that it is sent again and somebody looks', (_what, json) => {
    expect(readEvent(json)).toMatchObject({ kind: 'malformed' });
  });
});

it('what the guide tells operators to set in Stripe is what is read here, in the version of the package', () => {
  const guide = readFileSync(new URL('../../../../docs/guides/running.md', import.meta.url), 'utf8');
  for (const type of stripeEventTypes) expect(guide).toContain(`\`${type}\``);
  expect(guide).toContain(`API version \`${Stripe.API_VERSION}\``);
});
