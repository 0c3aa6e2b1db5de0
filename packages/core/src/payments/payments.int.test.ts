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

describe('a top-up', () => {
  it('is credited when Stripe says that it was paid, lifts the rate limit and is announced', async () => {
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

  it('is credited once by twenty identical events at once', async () => {
    const call = await harness.newCaller();
    const opened = await harness.open(call);
    const session = harness.stripe.pay(harness.stripe.sessionOf(opened.id).id);
    const event = { ...completed(session), id: `evt_twenty_${opened.id}` };
    await times(20, () => harness.send(event));
    expect(await harness.transfers(opened.id)).toEqual([['top_up', usd(100)]]);
    expect((await harness.money(call.orgId)).balance).toBe(usd(100));
    expect(await eventOutcomes(harness.db, opened.id)).toEqual(['applied']);
  });

  it('is credited once by different events and the sweep at once', async () => {
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

  it('waits while the bank decides, and ends either way', async () => {
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

  it('that nobody paid expires, and costs and credits nothing', async () => {
    const call = await harness.newCaller();
    const opened = await harness.open(call);
    const session = harness.stripe.change(harness.stripe.sessionOf(opened.id).id, { status: 'expired' });
    await harness.send({ type: 'checkout.session.expired', object: session });
    expect(await harness.read(opened)).toMatchObject({ state: 'expired', checkoutUrl: null });
    expect(await harness.transfers(opened.id)).toEqual([]);
  });

  it('whose event fails half way leaves nothing, and succeeds when Stripe repeats it', async () => {
    const call = await harness.newCaller();
    const opened = await harness.open(call);
    const session = harness.stripe.pay(harness.stripe.sessionOf(opened.id).id);
    const event = { ...completed(session), id: `evt_half_${opened.id}` };
    // The last thing before the commit: all else has been written by then.
    const failing = harness.with({ burnOf: () => Promise.reject(new Error('the process is dying')) });
    await expect(harness.send(event, failing)).rejects.toThrow('the process is dying');
    expect((await harness.read(opened)).state).toBe('open');
    expect(await harness.transfers(opened.id)).toEqual([]);
    await harness.send(event);
    expect((await harness.read(opened)).state).toBe('paid');
    expect(await harness.transfers(opened.id)).toEqual([['top_up', usd(100)]]);
  });
});

describe('making the payment page', () => {
  it('after a death between the commit and the call makes one page', async () => {
    const { orgId, mode, id } = await harness.start(await harness.newCaller());
    const opened = await times(5, () => harness.payments.openCheckout(orgId, mode, id));
    expect(new Set(opened.map(({ sessionRef }) => sessionRef)).size).toBe(1);
    expect(opened.every(({ state }) => state === 'open')).toBe(true);
    expect(
      harness.stripe.sessions().filter(({ metadata }) => metadata['millrace_payment_id'] === id),
    ).toHaveLength(1);
  });

  it('whose answer was lost finds the same page again', async () => {
    const { orgId, mode, id } = await harness.start(await harness.newCaller());
    harness.stripe.failNext('lost', 'lost', 'lost');
    await expect(harness.payments.openCheckout(orgId, mode, id)).rejects.toMatchObject({
      reason: 'PAYMENT_PROVIDER_UNAVAILABLE',
    });
    const made = harness.stripe.sessionOf(id);
    const opened = await harness.payments.openCheckout(orgId, mode, id);
    expect(opened).toMatchObject({ state: 'open', sessionRef: made.id, checkoutUrl: made.url });
  });

  it('whose answer was lost, and that was paid all the same, is credited by what we wrote into the page', async () => {
    const call = await harness.newCaller();
    const started = await harness.start(call);
    harness.stripe.failNext('lost', 'lost', 'lost');
    await expect(harness.payments.openCheckout(call.orgId, 'live', started.id)).rejects.toThrow();
    await harness.send(completed(harness.stripe.pay(harness.stripe.sessionOf(started.id).id)));
    expect(await harness.read(started)).toMatchObject({ state: 'paid', credited: usd(100) });
    // Asking for the page of a payment that is paid gives the payment, not a page to pay again.
    const again = await harness.payments.openCheckout(call.orgId, 'live', started.id);
    expect([again.state, again.checkoutUrl]).toEqual(['paid', null]);
  });

  it('that is refused ends the payment; that finds nobody there does not', async () => {
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

  it('is refused inside a transaction, where it would hold locks for as long as Stripe likes', async () => {
    const { orgId, mode, id } = await harness.start(await harness.newCaller());
    const inside = harness.db.transaction({ name: 'test', isolation: 'read committed' }, () =>
      harness.payments.openCheckout(orgId, mode, id),
    );
    await expect(inside).rejects.toThrow(/inside the transaction/);
  });
});

describe('what Stripe says is held against our own row', () => {
  it.each([
    ['less than was asked for', { amount_total: 9_999 }],
    ['more than was asked for', { amount_total: 10_001 }],
    ['another currency', { currency: 'eur' }],
  ])('%s credits nothing, is kept and is shown to the operator', async (_what, changes) => {
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
      .find((each) => each.includes(opened.id) && each.includes('do not agree'));
    expect(line).toContain('"level":"error"');
  });

  it('an event of the test side credits nothing', async () => {
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

  it('and where test cards count, an event of the live side credits nothing', async () => {
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

  it("a page that claims to be another organisation's is credited to whom our row says", async () => {
    const [own, theirs] = [await harness.newCaller(), await harness.newCaller()];
    const mine = await harness.open(own);
    const other = await harness.open(theirs);
    const session = harness.stripe.pay(harness.stripe.sessionOf(mine.id).id);
    await harness.send(completed({ ...session, metadata: { millrace_payment_id: other.id } }));
    expect((await harness.read(mine)).state).toBe('paid');
    expect((await harness.read(other)).state).toBe('open');
    expect((await harness.money(theirs.orgId)).balance).toBe(0n);
  });

  it('an unknown page that names a payment which has its own page credits nobody', async () => {
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
