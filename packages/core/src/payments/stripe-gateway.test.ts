import { signStripeEvent, startStripeDouble, TEST_START_MS } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { payment, usd } from './payments.fixture.ts';
import { createStripeGateway } from './stripe-gateway.ts';
import { stripeGatewayOf } from './stripe-settings.ts';

const double = await startStripeDouble();
const gateway = createStripeGateway(double.settings);
afterAll(() => double.close());

const reasonOf = (work: () => unknown): unknown => {
  try {
    work();
    return 'accepted';
  } catch (error) {
    return error instanceof Error && 'reason' in error ? error.reason : error;
  }
};

describe('verify', () => {
  const at = (ms: number) =>
    signStripeEvent(double.settings.webhookSecret, { type: 'charge.refunded', object: {}, createdMs: ms });

  it('accepts a signature for exactly five minutes by the given clock', () => {
    const { body, headers } = at(TEST_START_MS);
    const verifyAt = (nowMs: number) =>
      reasonOf(() => gateway.verify(body, headers['stripe-signature'], nowMs));
    expect(verifyAt(TEST_START_MS)).toBe('accepted');
    expect(verifyAt(TEST_START_MS + 300_000)).toBe('accepted');
    expect(verifyAt(TEST_START_MS + 301_000)).toBe('WEBHOOK_SIGNATURE_INVALID');
  });

  it.each([
    ['missing', undefined],
    ['empty', ''],
    ['invalid', 't=now,v1=abc'],
    ['of an old scheme', `t=${TEST_START_MS},v0=abc`],
  ])('refuses a signature that is %s', (_what, signature) => {
    const { body } = at(TEST_START_MS);
    expect(reasonOf(() => gateway.verify(body, signature, TEST_START_MS))).toBe('WEBHOOK_SIGNATURE_INVALID');
  });
});

describe('checkout session', () => {
  it('is created from the row alone, so that repeating returns the same session', async () => {
    const requested = payment({ sessionRef: null, amount: usd(12.34) });
    const [one, two] = [
      await gateway.openCheckout(requested),
      await gateway.openCheckout({ ...requested, checks: 9 }),
    ];
    expect(two).toEqual(one);
    expect(double.sessionOf(requested.id)).toMatchObject({
      id: one.sessionRef,
      amount_total: 1_234,
      currency: 'usd',
      metadata: { millrace_payment_id: requested.id },
    });
  });

  it('is refused if the same payment is requested with other values', async () => {
    const requested = payment({ sessionRef: null });
    await gateway.openCheckout(requested);
    await expect(gateway.openCheckout({ ...requested, amount: usd(1) })).rejects.toMatchObject({
      reason: 'PAYMENT_PROVIDER_REFUSED',
    });
  });

  it('that is being created concurrently is reported as unavailable, not as refused', async () => {
    double.failNext('in use');
    const requested = payment({ sessionRef: null });
    await expect(gateway.openCheckout(requested)).rejects.toMatchObject({
      reason: 'PAYMENT_PROVIDER_UNAVAILABLE',
    });
    expect(await gateway.openCheckout(requested)).toMatchObject({ url: expect.any(String) });
  });

  it('is read as the same fact as an event', async () => {
    const requested = payment({ sessionRef: null });
    const { sessionRef } = await gateway.openCheckout(requested);
    expect(await gateway.readCheckout(sessionRef)).toMatchObject({ status: 'open', intentRef: null });
    const { payment_intent } = double.pay(sessionRef);
    expect(await gateway.readCheckout(sessionRef)).toEqual({
      kind: 'session',
      sessionRef,
      intentRef: payment_intent,
      claimedPayment: requested.id,
      status: 'paid',
      amountCents: 10_000,
      currency: 'usd',
      live: true,
    });
    await expect(gateway.readCheckout('cs_unknown')).rejects.toMatchObject({
      reason: 'PAYMENT_PROVIDER_REFUSED',
    });
  });

  it("with an unknown key is reported as unavailable, because it is not the caller's fault", async () => {
    const wrong = createStripeGateway({ ...double.settings, secretKey: 'sk_live_wrong' });
    await expect(wrong.openCheckout(payment())).rejects.toMatchObject({
      reason: 'PAYMENT_PROVIDER_UNAVAILABLE',
    });
  });
});

it('stripeGatewayOf returns null without secrets, and recognises a test key', async () => {
  const { settings } = double;
  expect(await stripeGatewayOf({ ...settings, secretKey: null })).toBeNull();
  expect(await stripeGatewayOf({ ...settings, webhookSecret: null })).toBeNull();
  expect((await stripeGatewayOf(settings))?.live).toBe(true);
  expect((await stripeGatewayOf({ ...settings, secretKey: 'rk_test_x' }))?.live).toBe(false);
});
