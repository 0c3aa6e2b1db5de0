import { signStripeEvent, startStripeDouble, type CallResponse, type DoubleSession } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { serveBilling, zeroBurnRate } from '../billing/index.ts';
import { seedOrganisation, startRoutes, type SeededOrganisation } from '../routes.fixture.ts';
import { Payments, servePayments, stripeGatewayOf, type StripeGateway } from './index.ts';

const double = await startStripeDouble();
const fixture = await servePaymentsWith(await stripeGatewayOf(double.settings));
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
  await double.close();
});

function servePaymentsWith(stripe: StripeGateway | null) {
  const burnOf = zeroBurnRate;
  const consoleUrl = 'https://console.example.com';
  return startRoutes((deps) => {
    serveBilling({ ...deps, burnOf });
    servePayments({ ...deps, payments: new Payments({ ...deps, stripe, consoleUrl, burnOf }) });
  });
}

const topUp = (
  who: SeededOrganisation,
  body: unknown = { amountCents: 2_500 },
  headers: Readonly<Record<string, string>> = {},
): Promise<CallResponse> =>
  fixture.call({ method: 'POST', path: '/v2/customer/top-ups', key: who.owner.key, body, headers });

const get = (who: SeededOrganisation, path: string): Promise<CallResponse> =>
  fixture.call({ method: 'GET', path, key: who.owner.key });

interface Delivery {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

function signed(session: DoubleSession, fields: { signedMs?: number; secret?: string } = {}): Delivery {
  const now = Date.now();
  return signStripeEvent(fields.secret ?? double.settings.webhookSecret, {
    type: 'checkout.session.completed',
    object: session,
    createdMs: now,
    signedMs: fields.signedMs ?? now,
  });
}

async function deliver({ body, headers }: Delivery): Promise<{ status: number; reason: unknown }> {
  const response = await fixture.server.fastify.inject({
    method: 'POST',
    url: '/v2/payments/stripe/webhook',
    headers,
    payload: body,
  });
  return { status: response.statusCode, reason: response.json<{ reason?: string }>().reason };
}

const pay = (paymentId: string): DoubleSession => double.pay(double.sessionOf(paymentId).id);
const balanceOf = async (who: SeededOrganisation): Promise<unknown> =>
  (await get(who, '/v2/customer/balance')).json.balanceNanoUsd;

describe('POST /v2/customer/top-ups', () => {
  it('returns a checkout URL; once paid, balance and list show the payment', async () => {
    const who = await seedOrganisation(fixture.db);
    const made = await topUp(who);
    expect(made.status).toBe(201);
    const { paymentId } = made.json as { paymentId: string };
    const session = double.sessionOf(paymentId);
    expect(made.json).toEqual({
      paymentId,
      state: 'open',
      amountCents: 2_500,
      amountNanoUsd: '25000000000',
      refundedNanoUsd: '0',
      checkoutUrl: session.url,
      createdAt: expect.any(String),
      paidAt: null,
    });
    expect(session).toMatchObject({
      amount_total: 2_500,
      currency: 'usd',
      success_url: 'https://console.example.com',
      cancel_url: 'https://console.example.com',
    });

    expect(await deliver(signed(pay(paymentId)))).toEqual({ status: 200, reason: undefined });
    expect(await balanceOf(who)).toBe('25000000000');
    const read = await get(who, `/v2/customer/top-ups/${paymentId}`);
    expect(read.json).toMatchObject({ state: 'paid', checkoutUrl: null, paidAt: expect.any(String) });
    expect((await get(who, '/v2/customer/top-ups')).json).toEqual({ items: [read.json], nextCursor: null });
    const audit = await get(who, '/v2/audit-log?action=top_up.created');
    expect(audit.json.items[0]).toMatchObject({ resource: { kind: 'payment', id: paymentId } });
  });

  it('with the same Idempotency-Key returns the same checkout, also concurrently and after a crash', async () => {
    const who = await seedOrganisation(fixture.db);
    const headers = { 'idempotency-key': 'one-page' };
    // The first request is committed and its session created, but the response is lost in all three tries.
    double.failNext('lost', 'lost', 'lost');
    const first = await topUp(who, { amountCents: 700 }, headers);
    expect([first.status, first.json.reason, first.json.suggestion]).toEqual([
      503,
      'PAYMENT_PROVIDER_UNAVAILABLE',
      'Send the request again with the same Idempotency-Key. It continues the same payment.',
    ]);
    const again = await Promise.all(
      Array.from({ length: 5 }, () => topUp(who, { amountCents: 700 }, headers)),
    );
    expect(again.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    expect(again.every((response) => response.headers['idempotent-replayed'] === 'true')).toBe(true);
    const [one] = again;
    for (const { json } of again) expect(json).toEqual(one?.json);
    expect(one?.json).toMatchObject({ state: 'open', checkoutUrl: expect.stringMatching(/^https:/) });
    expect((await get(who, '/v2/customer/top-ups')).json.items).toHaveLength(1);
    const other = await topUp(who, { amountCents: 800 }, headers);
    expect([other.status, other.json.reason]).toEqual([409, 'IDEMPOTENCY_KEY_REUSED']);
  });

  it.each([
    ['less than 5 USD', { amountCents: 499 }],
    ['more than 10 000 USD', { amountCents: 1_000_001 }],
    ['parts of a cent', { amountCents: 500.5 }],
    ['no amount', {}],
    ['a return URL without TLS', { amountCents: 500, successUrl: 'http://example.com' }],
    ['a return URL with a password', { amountCents: 500, cancelUrl: 'https://user:pw@example.com/' }],
    ['a return URL that is a script', { amountCents: 500, successUrl: 'javascript:alert(1)' }],
  ])('refuses %s without a call to Stripe', async (_what, body) => {
    const who = await seedOrganisation(fixture.db);
    const calls = double.calls();
    const response = await topUp(who, body);
    expect([response.status, response.json.reason]).toEqual([400, 'VALIDATION_FAILED']);
    expect(double.calls()).toBe(calls);
  });

  it('uses the return URLs of the request', async () => {
    const who = await seedOrganisation(fixture.db);
    const body = {
      amountCents: 500,
      successUrl: 'https://app.example.com/ok',
      cancelUrl: 'https://app.example.com/no',
    };
    const { json } = await topUp(who, body);
    expect(double.sessionOf(json.paymentId)).toMatchObject({
      success_url: body.successUrl,
      cancel_url: body.cancelUrl,
    });
  });

  it('allows at most twenty open payments per organisation, also concurrently', async () => {
    const who = await seedOrganisation(fixture.db);
    const responses = await Promise.all(Array.from({ length: 30 }, () => topUp(who)));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(20);
    const refused = responses.filter(({ status }) => status !== 201);
    expect(new Set(refused.map(({ json }) => json.reason))).toEqual(new Set(['TOP_UP_LIMIT_REACHED']));
    await deliver(signed(pay(responses.find(({ status }) => status === 201)?.json.paymentId)));
    expect((await topUp(who)).status).toBe(201);
  });

  it('is refused for test keys: test mode is free', async () => {
    const who = await seedOrganisation(fixture.db);
    const { key } = await who.ownerKey('test');
    const body = { amountCents: 500 };
    const response = await fixture.call({ method: 'POST', path: '/v2/customer/top-ups', key, body });
    expect([response.status, response.json.reason]).toEqual([403, 'INSUFFICIENT_SCOPE']);
  });

  it('and the webhook respond with TOP_UPS_NOT_AVAILABLE if cards are not configured', async () => {
    await using without = await servePaymentsWith(null);
    const who = await seedOrganisation(without.db);
    const body = { amountCents: 500 };
    const response = await without.call({
      method: 'POST',
      path: '/v2/customer/top-ups',
      key: who.owner.key,
      body,
    });
    expect([response.status, response.json.reason]).toEqual([404, 'TOP_UPS_NOT_AVAILABLE']);
    expect(response.json.message).toBe('This installation does not accept card payments.');
    const webhook = await without.call({ method: 'POST', path: '/v2/payments/stripe/webhook', body: {} });
    expect([webhook.status, webhook.json.reason]).toEqual([404, 'TOP_UPS_NOT_AVAILABLE']);
    const list = await without.call({ method: 'GET', path: '/v2/customer/top-ups', key: who.owner.key });
    expect([list.status, list.json.items]).toEqual([200, []]);
  });
});

describe('POST /v2/payments/stripe/webhook', () => {
  it.each<[string, (session: DoubleSession) => Delivery]>([
    ['signed with another secret', (session) => signed(session, { secret: 'whsec_guessed' })],
    ['signed over five minutes ago', (session) => signed(session, { signedMs: Date.now() - 301_000 })],
    [
      'changed after it was signed',
      (session) => {
        const { body, headers } = signed(session);
        return { body: body.replace('"usd"', '"eur"'), headers };
      },
    ],
    [
      'written in another form of the same JSON',
      (session) => {
        const { body, headers } = signed(session);
        return { body: JSON.stringify(JSON.parse(body), null, 1), headers };
      },
    ],
    [
      'without a signature',
      (session) => ({ body: signed(session).body, headers: { 'content-type': 'application/json' } }),
    ],
    ['without a body', (session) => ({ ...signed(session), body: '' })],
  ])('refuses an event %s, and credits nothing', async (_what, make) => {
    const who = await seedOrganisation(fixture.db);
    const { json } = await topUp(who);
    const response = await deliver(make(pay(json.paymentId)));
    expect(response).toEqual({ status: 400, reason: 'WEBHOOK_SIGNATURE_INVALID' });
    expect(await balanceOf(who)).toBe('0');
  });

  it('refuses a signed event without required fields, so that Stripe repeats it', async () => {
    const { webhookSecret } = double.settings;
    const type = 'checkout.session.completed';
    const response = await deliver(
      signStripeEvent(webhookSecret, { type, object: {}, createdMs: Date.now() }),
    );
    expect(response).toEqual({ status: 400, reason: 'WEBHOOK_EVENT_INVALID' });
  });

  it('accepts twenty concurrent deliveries of one event and credits once', async () => {
    const who = await seedOrganisation(fixture.db);
    const { json } = await topUp(who);
    const delivery = signed(pay(json.paymentId));
    const responses = await Promise.all(Array.from({ length: 20 }, () => deliver(delivery)));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await balanceOf(who)).toBe('25000000000');
  });
});

it('GET /v2/customer/top-ups pages newest first, without other organisations or the other mode', async () => {
  const who = await seedOrganisation(fixture.db);
  const other = await seedOrganisation(fixture.db);
  await topUp(other);
  const made = [];
  for (let n = 0; n < 3; n += 1) made.unshift((await topUp(who)).json.paymentId);
  const first = await get(who, '/v2/customer/top-ups?limit=2');
  const second = await get(who, `/v2/customer/top-ups?limit=2&cursor=${first.json.nextCursor}`);
  const seen = [...first.json.items, ...second.json.items].map(({ paymentId }) => paymentId);
  expect([seen, second.json.nextCursor]).toEqual([made, null]);
  const { key } = await who.ownerKey('test');
  const inTest = await fixture.call({ method: 'GET', path: '/v2/customer/top-ups', key });
  expect(inTest.json.items).toEqual([]);
  const hidden = await fixture.call({ method: 'GET', path: `/v2/customer/top-ups/${made[0]}`, key });
  expect(hidden.status).toBe(404);
});

it('payments log no secret of Stripe, also when Stripe refuses a request', async () => {
  const { secretKey, webhookSecret } = double.settings;
  const who = await seedOrganisation(fixture.db);
  double.failNext('refused', 'unavailable');
  const refused = await topUp(who);
  expect([refused.status, refused.json.reason]).toEqual([422, 'PAYMENT_PROVIDER_REFUSED']);
  expect((await topUp(who)).status).toBe(503);
  expect(fixture.logs()).not.toContain(secretKey);
  expect(fixture.logs()).not.toContain(webhookSecret);
});
