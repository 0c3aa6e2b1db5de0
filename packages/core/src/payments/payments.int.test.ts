import { toUuid } from '@millrace/platform/ids';
import { startStripeDouble } from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { usd } from './payments.fixture.ts';
import { createStripeGateway } from './stripe-gateway.ts';
import {
  completed,
  eventOutcomes,
  startPaymentsHarness,
  type PaymentsHarness,
} from './payments-harness.fixture.ts';

let world: PaymentsHarness;
beforeAll(async () => {
  world = await startPaymentsHarness();
});
afterAll(() => world[Symbol.asyncDispose]());

const times = <T>(count: number, act: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, act));

describe('a top-up', () => {
  it('is credited when Stripe says that it was paid, lifts the rate limit and is announced', async () => {
    const call = await world.newCaller();
    const opened = await world.open(call, 25);
    expect(opened).toMatchObject({ state: 'open', checkoutUrl: world.stripe.sessionOf(opened.id).url });
    expect((await world.money(call.orgId)).balance).toBe(0n);

    await world.send(completed(world.stripe.pay(world.stripe.sessionOf(opened.id).id)));
    expect(await world.read(opened)).toMatchObject({ state: 'paid', credited: usd(25), checkoutUrl: null });
    expect(await world.money(call.orgId)).toEqual({ balance: usd(25), available: usd(25), frozen: false });
    expect(await world.transfers(opened.id)).toEqual([['top_up', usd(25)]]);

    const orgUuid = toUuid(call.orgId);
    const { kysely } = world.db;
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
    const call = await world.newCaller();
    const opened = await world.open(call);
    const session = world.stripe.pay(world.stripe.sessionOf(opened.id).id);
    const event = { ...completed(session), id: `evt_twenty_${opened.id}` };
    await times(20, () => world.send(event));
    expect(await world.transfers(opened.id)).toEqual([['top_up', usd(100)]]);
    expect((await world.money(call.orgId)).balance).toBe(usd(100));
    expect(await eventOutcomes(world.db, opened.id)).toEqual(['applied']);
  });

  it('is credited once by different events and the sweep at once', async () => {
    const call = await world.newCaller();
    const opened = await world.open(call);
    const session = world.stripe.pay(world.stripe.sessionOf(opened.id).id);
    const later = world.inMinutes(11);
    await Promise.all([
      ...Array.from({ length: 5 }, () => world.send(completed(session))),
      ...Array.from({ length: 5 }, () =>
        world.send({ type: 'checkout.session.async_payment_succeeded', object: session }),
      ),
      ...Array.from({ length: 3 }, () => later.checkDue(50)),
    ]);
    expect(await world.transfers(opened.id)).toEqual([['top_up', usd(100)]]);
    expect((await world.money(call.orgId)).balance).toBe(usd(100));
  });

  it('waits while the bank decides, and ends either way', async () => {
    const call = await world.newCaller();
    const outcome = async (type: string, paymentStatus: 'paid' | 'unpaid') => {
      const opened = await world.open(call);
      const { id } = world.stripe.pay(world.stripe.sessionOf(opened.id).id);
      await world.send(completed(world.stripe.change(id, { payment_status: 'unpaid' })));
      const waiting = (await world.read(opened)).state;
      await world.send({ type, object: world.stripe.change(id, { payment_status: paymentStatus }) });
      return [waiting, (await world.read(opened)).state];
    };
    const succeeded = await outcome('checkout.session.async_payment_succeeded', 'paid');
    expect(succeeded).toEqual(['processing', 'paid']);
    const failed = await outcome('checkout.session.async_payment_failed', 'unpaid');
    expect(failed).toEqual(['processing', 'failed']);
    expect((await world.money(call.orgId)).balance).toBe(usd(100));
  });

  it('that nobody paid expires, and costs and credits nothing', async () => {
    const call = await world.newCaller();
    const opened = await world.open(call);
    const session = world.stripe.change(world.stripe.sessionOf(opened.id).id, { status: 'expired' });
    await world.send({ type: 'checkout.session.expired', object: session });
    expect(await world.read(opened)).toMatchObject({ state: 'expired', checkoutUrl: null });
    expect(await world.transfers(opened.id)).toEqual([]);
  });

  it('whose event fails half way leaves nothing, and succeeds when Stripe repeats it', async () => {
    const call = await world.newCaller();
    const opened = await world.open(call);
    const session = world.stripe.pay(world.stripe.sessionOf(opened.id).id);
    const event = { ...completed(session), id: `evt_half_${opened.id}` };
    // The last thing before the commit: all else has been written by then.
    const failing = world.with({ burnOf: () => Promise.reject(new Error('the process is dying')) });
    await expect(world.send(event, failing)).rejects.toThrow('the process is dying');
    expect((await world.read(opened)).state).toBe('open');
    expect(await world.transfers(opened.id)).toEqual([]);
    await world.send(event);
    expect((await world.read(opened)).state).toBe('paid');
    expect(await world.transfers(opened.id)).toEqual([['top_up', usd(100)]]);
  });
});

describe('making the payment page', () => {
  it('after a death between the commit and the call makes one page', async () => {
    const { orgId, mode, id } = await world.start(await world.newCaller());
    const opened = await times(5, () => world.payments.openCheckout(orgId, mode, id));
    expect(new Set(opened.map(({ sessionRef }) => sessionRef)).size).toBe(1);
    expect(opened.every(({ state }) => state === 'open')).toBe(true);
    expect(
      world.stripe.sessions().filter(({ metadata }) => metadata['millrace_payment_id'] === id),
    ).toHaveLength(1);
  });

  it('whose answer was lost finds the same page again', async () => {
    const { orgId, mode, id } = await world.start(await world.newCaller());
    world.stripe.failNext('lost', 'lost', 'lost');
    await expect(world.payments.openCheckout(orgId, mode, id)).rejects.toMatchObject({
      reason: 'PAYMENT_PROVIDER_UNAVAILABLE',
    });
    const made = world.stripe.sessionOf(id);
    const opened = await world.payments.openCheckout(orgId, mode, id);
    expect(opened).toMatchObject({ state: 'open', sessionRef: made.id, checkoutUrl: made.url });
  });

  it('whose answer was lost, and that was paid all the same, is credited by what we wrote into the page', async () => {
    const call = await world.newCaller();
    const started = await world.start(call);
    world.stripe.failNext('lost', 'lost', 'lost');
    await expect(world.payments.openCheckout(call.orgId, 'live', started.id)).rejects.toThrow();
    await world.send(completed(world.stripe.pay(world.stripe.sessionOf(started.id).id)));
    expect(await world.read(started)).toMatchObject({ state: 'paid', credited: usd(100) });
    // Asking for the page of a payment that is paid gives the payment, not a page to pay again.
    const again = await world.payments.openCheckout(call.orgId, 'live', started.id);
    expect([again.state, again.checkoutUrl]).toEqual(['paid', null]);
  });

  it('that is refused ends the payment; that finds nobody there does not', async () => {
    const call = await world.newCaller();
    const refused = await world.start(call);
    world.stripe.failNext('refused');
    await expect(world.payments.openCheckout(call.orgId, 'live', refused.id)).rejects.toMatchObject({
      reason: 'PAYMENT_PROVIDER_REFUSED',
    });
    expect((await world.read(refused)).state).toBe('failed');

    const unlucky = await world.start(call);
    world.stripe.failNext('unavailable');
    await expect(world.payments.openCheckout(call.orgId, 'live', unlucky.id)).rejects.toMatchObject({
      reason: 'PAYMENT_PROVIDER_UNAVAILABLE',
    });
    expect((await world.read(unlucky)).state).toBe('created');
  });

  it('is refused inside a transaction, where it would hold locks for as long as Stripe likes', async () => {
    const { orgId, mode, id } = await world.start(await world.newCaller());
    const inside = world.db.transaction({ name: 'test', isolation: 'read committed' }, () =>
      world.payments.openCheckout(orgId, mode, id),
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
    const call = await world.newCaller();
    const opened = await world.open(call);
    const { id } = world.stripe.pay(world.stripe.sessionOf(opened.id).id);
    await world.send(completed(world.stripe.change(id, changes)));
    expect(await world.read(opened)).toMatchObject({ state: 'mismatch', credited: 0n });
    expect(await world.transfers(opened.id)).toEqual([]);
    expect(await eventOutcomes(world.db, opened.id)).toEqual(['mismatch']);
    const line = world
      .logs()
      .split('\n')
      .find((each) => each.includes(opened.id) && each.includes('do not agree'));
    expect(line).toContain('"level":"error"');
  });

  it('an event of the test side credits nothing', async () => {
    const call = await world.newCaller();
    const opened = await world.open(call);
    const session = world.stripe.pay(world.stripe.sessionOf(opened.id).id);
    await world.send({ ...completed(session), livemode: false });
    await world.send(completed({ ...session, livemode: false }));
    expect(await world.read(opened)).toMatchObject({ state: 'open', credited: 0n });
    expect(await eventOutcomes(world.db, opened.id)).toEqual(['mismatch', 'mismatch']);
    await world.send(completed(session));
    expect((await world.read(opened)).state).toBe('paid');
  });

  it('and where test cards count, an event of the live side credits nothing', async () => {
    const call = await world.newCaller();
    await using testSide = await startStripeDouble({ live: false });
    const stripe = createStripeGateway({
      ...testSide.settings,
      webhookSecret: world.stripe.settings.webhookSecret,
    });
    const trying = world.with({ stripe });
    const started = await world.db.transaction({ name: 'test', isolation: 'read committed' }, (tx) =>
      trying.start(tx, call, { amountCents: 1_000 }),
    );
    await trying.openCheckout(call.orgId, 'live', started.id);
    const session = testSide.pay(testSide.sessionOf(started.id).id);
    await world.send({ ...completed({ ...session, livemode: true }), livemode: true }, trying);
    expect((await world.read(started)).state).toBe('open');
    await world.send({ ...completed(session), livemode: false }, trying);
    expect((await world.read(started)).state).toBe('paid');
  });

  it("a page that claims to be another organisation's is credited to whom our row says", async () => {
    const [ours, theirs] = [await world.newCaller(), await world.newCaller()];
    const mine = await world.open(ours);
    const other = await world.open(theirs);
    const session = world.stripe.pay(world.stripe.sessionOf(mine.id).id);
    await world.send(completed({ ...session, metadata: { millrace_payment_id: other.id } }));
    expect((await world.read(mine)).state).toBe('paid');
    expect((await world.read(other)).state).toBe('open');
    expect((await world.money(theirs.orgId)).balance).toBe(0n);
  });

  it('an unknown page that names a payment which has its own page credits nobody', async () => {
    const call = await world.newCaller();
    const opened = await world.open(call);
    const session = world.stripe.pay(world.stripe.sessionOf(opened.id).id);
    await world.send(completed({ ...session, id: 'cs_of_somebody_else' }));
    await world.send(completed({ ...session, id: 'cs_unknown', metadata: {} }));
    await world.send(
      completed({ ...session, id: 'cs_odd', metadata: { millrace_payment_id: "'; drop table" } }),
    );
    expect(await world.read(opened)).toMatchObject({ state: 'open', credited: 0n });
    expect((await world.money(call.orgId)).balance).toBe(0n);
  });
});
