import { toUuid } from '@millrace/platform/ids';
import { startStripeDouble } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { usd } from './payments.fixture.ts';
import { createStripeGateway } from './stripe-gateway.ts';
import { completed, eventOutcomes, startPaymentsHarness } from './payments-harness.fixture.ts';

const harness = await startPaymentsHarness();
afterAll(() => harness[Symbol.asyncDispose]());

const times = <T>(count: number, work: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, work));

describe('top-up', () => {
  it('is credited when Stripe reports the payment, raises the rate limit and emits an event', async () => {
    const call = await harness.newCaller();
    const opened = await harness.open(call, 25);
    expect(opened).toMatchObject({ state: 'open', checkoutUrl: harness.stripe.sessionOf(opened.id).url });
    expect((await harness.money(call.orgId)).balance).toBe(0n);

    await harness.send(completed(harness.stripe.pay(harness.stripe.sessionOf(opened.id).id)));
    expect(await harness.read(opened)).toMatchObject({ state: 'paid', credited: usd(25), checkoutUrl: null });
    expect(await harness.money(call.orgId)).toEqual({ balance: usd(25), available: usd(25), frozen: false });
    expect(await harness.transfers(opened.id)).toEqual([['top_up', usd(25)]]);

    const orgUuid = toUuid(call.orgId);
    const { kysely } = harness.db;
    const org = await kysely
      .selectFrom('organisations')
      .select('funded_at')
      .where('id', '=', orgUuid)
      .execute();
    expect(org[0]?.funded_at).toBeInstanceOf(Date);
    const events = await kysely.selectFrom('outbox').selectAll().where('org_id', '=', orgUuid).execute();
    const announced = events.filter(({ type }) => type === 'balance.topped_up');
    expect(announced.map(({ payload }) => payload)).toEqual([
      {
        balanceNanoUsd: '25000000000',
        availableNanoUsd: '25000000000',
        burnRateUsdPerHour: 0,
        runwaySeconds: null,
        amountNanoUsd: '25000000000',
        source: 'payment',
      },
    ]);
  });

  it('is credited once by twenty identical concurrent events', async () => {
    const call = await harness.newCaller();
    const opened = await harness.open(call);
    const session = harness.stripe.pay(harness.stripe.sessionOf(opened.id).id);
    const event = { ...completed(session), id: `evt_twenty_${opened.id}` };
    await times(20, () => harness.send(event));
    expect(await harness.transfers(opened.id)).toEqual([['top_up', usd(100)]]);
    expect((await harness.money(call.orgId)).balance).toBe(usd(100));
    expect(await eventOutcomes(harness.db, opened.id)).toEqual(['applied']);
  });

  it('is credited once by different events and sweeps that run concurrently', async () => {
    const call = await harness.newCaller();
    const opened = await harness.open(call);
    const session = harness.stripe.pay(harness.stripe.sessionOf(opened.id).id);
    const later = harness.inMinutes(11);
    await Promise.all([
      ...Array.from({ length: 5 }, () => harness.send(completed(session))),
      ...Array.from({ length: 5 }, () =>
        harness.send({ type: 'checkout.session.async_payment_succeeded', object: session }),
      ),
      ...Array.from({ length: 3 }, () => later.checkDue(50)),
    ]);
    expect(await harness.transfers(opened.id)).toEqual([['top_up', usd(100)]]);
    expect((await harness.money(call.orgId)).balance).toBe(usd(100));
  });

  it('waits while the bank decides, and follows either decision', async () => {
    const call = await harness.newCaller();
    const outcome = async (type: string, paymentStatus: 'paid' | 'unpaid') => {
      const opened = await harness.open(call);
      const { id } = harness.stripe.pay(harness.stripe.sessionOf(opened.id).id);
      await harness.send(completed(harness.stripe.change(id, { payment_status: 'unpaid' })));
      const waiting = (await harness.read(opened)).state;
      await harness.send({ type, object: harness.stripe.change(id, { payment_status: paymentStatus }) });
      return [waiting, (await harness.read(opened)).state];
    };
    const succeeded = await outcome('checkout.session.async_payment_succeeded', 'paid');
    expect(succeeded).toEqual(['processing', 'paid']);
    const failed = await outcome('checkout.session.async_payment_failed', 'unpaid');
    expect(failed).toEqual(['processing', 'failed']);
    expect((await harness.money(call.orgId)).balance).toBe(usd(100));
  });

  it('that was not paid expires without a transfer', async () => {
    const call = await harness.newCaller();
    const opened = await harness.open(call);
    const session = harness.stripe.change(harness.stripe.sessionOf(opened.id).id, { status: 'expired' });
    await harness.send({ type: 'checkout.session.expired', object: session });
    expect(await harness.read(opened)).toMatchObject({ state: 'expired', checkoutUrl: null });
    expect(await harness.transfers(opened.id)).toEqual([]);
  });

  it('is not changed by an event that fails before the commit, and is credited on its retry', async () => {
    const call = await harness.newCaller();
    const opened = await harness.open(call);
    const session = harness.stripe.pay(harness.stripe.sessionOf(opened.id).id);
    const event = { ...completed(session), id: `evt_half_${opened.id}` };
    // This is the last step before the commit: everything else is already written.
    const failing = harness.with({ burnOf: () => Promise.reject(new Error('the process is dying')) });
    await expect(harness.send(event, failing)).rejects.toThrow('the process is dying');
    expect((await harness.read(opened)).state).toBe('open');
    expect(await harness.transfers(opened.id)).toEqual([]);
    await harness.send(event);
    expect((await harness.read(opened)).state).toBe('paid');
    expect(await harness.transfers(opened.id)).toEqual([['top_up', usd(100)]]);
  });
});

describe('openCheckout', () => {
  it('creates one session after a crash between commit and call', async () => {
    const { orgId, mode, id } = await harness.start(await harness.newCaller());
    const opened = await times(5, () => harness.payments.openCheckout(orgId, mode, id));
    expect(new Set(opened.map(({ sessionRef }) => sessionRef)).size).toBe(1);
    expect(opened.every(({ state }) => state === 'open')).toBe(true);
    expect(
      harness.stripe.sessions().filter(({ metadata }) => metadata['millrace_payment_id'] === id),
    ).toHaveLength(1);
  });

  it('finds the same session after a lost response', async () => {
    const { orgId, mode, id } = await harness.start(await harness.newCaller());
    harness.stripe.failNext('lost', 'lost', 'lost');
    await expect(harness.payments.openCheckout(orgId, mode, id)).rejects.toMatchObject({
      reason: 'PAYMENT_PROVIDER_UNAVAILABLE',
    });
    const made = harness.stripe.sessionOf(id);
    const opened = await harness.payments.openCheckout(orgId, mode, id);
    expect(opened).toMatchObject({ state: 'open', sessionRef: made.id, checkoutUrl: made.url });
  });

  it('after a lost response lets a payment be credited by the payment id in the metadata', async () => {
    const call = await harness.newCaller();
    const started = await harness.start(call);
    harness.stripe.failNext('lost', 'lost', 'lost');
    await expect(harness.payments.openCheckout(call.orgId, 'live', started.id)).rejects.toThrow();
    await harness.send(completed(harness.stripe.pay(harness.stripe.sessionOf(started.id).id)));
    expect(await harness.read(started)).toMatchObject({ state: 'paid', credited: usd(100) });
    // Opening the checkout of a paid payment returns the payment without a page.
    const again = await harness.payments.openCheckout(call.orgId, 'live', started.id);
    expect([again.state, again.checkoutUrl]).toEqual(['paid', null]);
  });

  it('fails the payment if Stripe refuses it, but not if Stripe is unreachable', async () => {
    const call = await harness.newCaller();
    const refused = await harness.start(call);
    harness.stripe.failNext('refused');
    await expect(harness.payments.openCheckout(call.orgId, 'live', refused.id)).rejects.toMatchObject({
      reason: 'PAYMENT_PROVIDER_REFUSED',
    });
    expect((await harness.read(refused)).state).toBe('failed');

    const unlucky = await harness.start(call);
    harness.stripe.failNext('unavailable');
    await expect(harness.payments.openCheckout(call.orgId, 'live', unlucky.id)).rejects.toMatchObject({
      reason: 'PAYMENT_PROVIDER_UNAVAILABLE',
    });
    expect((await harness.read(unlucky)).state).toBe('created');
  });

  it('throws inside a transaction, where it would hold locks during the call', async () => {
    const { orgId, mode, id } = await harness.start(await harness.newCaller());
    const inside = harness.db.transaction({ name: 'test', isolation: 'read committed' }, () =>
      harness.payments.openCheckout(orgId, mode, id),
    );
    await expect(inside).rejects.toThrow(/inside the transaction/);
  });
});

describe('report that contradicts the payment', () => {
  it.each([
    ['a lower amount', { amount_total: 9_999 }],
    ['a higher amount', { amount_total: 10_001 }],
    ['another currency', { currency: 'eur' }],
  ])('with %s credits nothing, is stored and is logged as an error', async (_what, changes) => {
    const call = await harness.newCaller();
    const opened = await harness.open(call);
    const { id } = harness.stripe.pay(harness.stripe.sessionOf(opened.id).id);
    await harness.send(completed(harness.stripe.change(id, changes)));
    expect(await harness.read(opened)).toMatchObject({ state: 'mismatch', credited: 0n });
    expect(await harness.transfers(opened.id)).toEqual([]);
    expect(await eventOutcomes(harness.db, opened.id)).toEqual(['mismatch']);
    const line = harness
      .logs()
      .split('\n')
      .find((each) => each.includes(opened.id) && each.includes('does not match'));
    expect(line).toContain('"level":"error"');
  });

  it("of Stripe's test mode credits nothing", async () => {
    const call = await harness.newCaller();
    const opened = await harness.open(call);
    const session = harness.stripe.pay(harness.stripe.sessionOf(opened.id).id);
    await harness.send({ ...completed(session), livemode: false });
    await harness.send(completed({ ...session, livemode: false }));
    expect(await harness.read(opened)).toMatchObject({ state: 'open', credited: 0n });
    expect(await eventOutcomes(harness.db, opened.id)).toEqual(['mismatch', 'mismatch']);
    await harness.send(completed(session));
    expect((await harness.read(opened)).state).toBe('paid');
  });

  it("of Stripe's live mode credits nothing if test cards are configured", async () => {
    const call = await harness.newCaller();
    await using testSide = await startStripeDouble({ live: false });
    const stripe = createStripeGateway({
      ...testSide.settings,
      webhookSecret: harness.stripe.settings.webhookSecret,
    });
    const trying = harness.with({ stripe });
    const started = await harness.db.transaction({ name: 'test', isolation: 'read committed' }, (tx) =>
      trying.start(tx, call, { amountCents: 1_000 }),
    );
    await trying.openCheckout(call.orgId, 'live', started.id);
    const session = testSide.pay(testSide.sessionOf(started.id).id);
    await harness.send({ ...completed({ ...session, livemode: true }), livemode: true }, trying);
    expect((await harness.read(started)).state).toBe('open');
    await harness.send({ ...completed(session), livemode: false }, trying);
    expect((await harness.read(started)).state).toBe('paid');
  });

  it('with metadata of another payment credits the payment of its own session', async () => {
    const [own, theirs] = [await harness.newCaller(), await harness.newCaller()];
    const mine = await harness.open(own);
    const other = await harness.open(theirs);
    const session = harness.stripe.pay(harness.stripe.sessionOf(mine.id).id);
    await harness.send(completed({ ...session, metadata: { millrace_payment_id: other.id } }));
    expect((await harness.read(mine)).state).toBe('paid');
    expect((await harness.read(other)).state).toBe('open');
    expect((await harness.money(theirs.orgId)).balance).toBe(0n);
  });

  it('of an unknown session that names a payment with its own session credits nothing', async () => {
    const call = await harness.newCaller();
    const opened = await harness.open(call);
    const session = harness.stripe.pay(harness.stripe.sessionOf(opened.id).id);
    await harness.send(completed({ ...session, id: 'cs_of_somebody_else' }));
    await harness.send(completed({ ...session, id: 'cs_unknown', metadata: {} }));
    await harness.send(
      completed({ ...session, id: 'cs_odd', metadata: { millrace_payment_id: "'; drop table" } }),
    );
    expect(await harness.read(opened)).toMatchObject({ state: 'open', credited: 0n });
    expect((await harness.money(call.orgId)).balance).toBe(0n);
  });
});
