import { toUuid } from '@millrace/platform/ids';
import { failingLoop, poisonRows, type Poison } from '@millrace/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { usd } from './payments.fixture.ts';
import { startPaymentsHarness, type PaymentsHarness } from './payments-harness.fixture.ts';

// Each test has its own harness, because a sweep takes everything that is due.
let harness: PaymentsHarness;
beforeEach(async () => {
  harness = await startPaymentsHarness();
});
afterEach(() => harness[Symbol.asyncDispose]());

const times = <T>(count: number, work: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, work));

describe('checkDue', () => {
  it('finds payments whose event was lost: paid, expired, or without a session', async () => {
    const call = await harness.newCaller();
    const paid = await harness.open(call);
    harness.stripe.pay(harness.stripe.sessionOf(paid.id).id);
    const expired = await harness.open(call);
    harness.stripe.change(harness.stripe.sessionOf(expired.id).id, { status: 'expired' });
    const unopened = await harness.start(call);
    const still = await harness.open(call);

    await harness.inMinutes(9).checkDue(1_000);
    expect((await harness.read(paid)).state).toBe('open');
    await harness.inMinutes(11).checkDue(1_000);
    const states = await Promise.all(
      [paid, expired, unopened, still].map(async (each) => (await harness.read(each)).state),
    );
    expect(states).toEqual(['paid', 'expired', 'open', 'open']);
    expect((await harness.money(call.orgId)).balance).toBe(usd(100));
  });

  it('checks with growing intervals, one worker at a time', async () => {
    const call = await harness.newCaller();
    const { id } = await harness.open(call);
    const checks = async () => {
      const row = await harness.db.kysely
        .selectFrom('payments')
        .select('checks')
        .where('id', '=', toUuid(id))
        .executeTakeFirstOrThrow();
      return row.checks;
    };
    const seen: number[] = [];
    for (const minutes of [11, 12, 22, 40, 62]) {
      await times(3, () => harness.inMinutes(minutes).checkDue(1_000));
      seen.push(await checks());
    }
    expect(seen).toEqual([1, 1, 2, 2, 3]);
  });

  it('expires a payment that is too old to create its session again', async () => {
    const unopened = await harness.start(await harness.newCaller());
    const calls = harness.stripe.calls();
    const tomorrow = harness.inMinutes(21 * 60);
    expect((await tomorrow.openCheckout(unopened.orgId, 'live', unopened.id)).state).toBe('created');
    expect(harness.stripe.calls()).toBe(calls);
    await tomorrow.checkDue(1_000);
    expect((await harness.read(unopened)).state).toBe('expired');
  });

  describe(failingLoop('ask about undecided payments'), () => {
    it('does not stop the checks of other payments if Stripe does not know it', async () => {
      const call = await harness.newCaller();
      const opened = [await harness.open(call), await harness.open(call)];
      for (const { id } of opened) harness.stripe.pay(harness.stripe.sessionOf(id).id);
      harness.stripe.failNext('refused');
      expect(await harness.inMinutes(11).checkDue(1_000)).toBe(2);
      const states = await Promise.all(opened.map(async (each) => (await harness.read(each)).state));
      expect(states.toSorted()).toEqual(['open', 'paid']);
      await harness.inMinutes(32).checkDue(1_000);
      expect((await harness.money(call.orgId)).balance).toBe(usd(200));
    });

    it.each<Poison>(['throws', 'times out'])(
      'whose write %s delays no other payment, and is credited once after the fault is removed',
      async (how) => {
        const call = await harness.newCaller();
        const opened = [await harness.open(call), await harness.open(call)] as const;
        for (const { id } of opened) harness.stripe.pay(harness.stripe.sessionOf(id).id);
        const when = `new.id = '${toUuid(opened[0].id)}' and new.state = 'paid'`;
        const removeFault = await poisonRows(harness.database, { table: 'payments', when, how });
        await harness.inMinutes(11).checkDue(1_000);
        expect(await Promise.all(opened.map(async (each) => (await harness.read(each)).state))).toEqual([
          'open',
          'paid',
        ]);
        await removeFault();
        await harness.inMinutes(60).checkDue(1_000);
        await harness.inMinutes(120).checkDue(1_000);
        expect((await harness.money(call.orgId)).balance).toBe(usd(200));
      },
    );
  });

  it('stops while Stripe is unreachable, and continues later', async () => {
    const call = await harness.newCaller();
    for (let n = 0; n < 3; n += 1) {
      const { id } = await harness.open(call);
      harness.stripe.pay(harness.stripe.sessionOf(id).id);
    }
    const calls = harness.stripe.calls();
    harness.stripe.failNext('unavailable');
    await harness.inMinutes(11).checkDue(1_000);
    expect(harness.stripe.calls()).toBe(calls + 1);
    await harness.inMinutes(32).checkDue(1_000);
    expect((await harness.money(call.orgId)).balance).toBe(usd(300));
  });

  it('does nothing if cards are not configured', async () => {
    await harness.open(await harness.newCaller());
    expect(await harness.with({ stripe: null }).checkDue(1_000)).toBe(0);
  });
});
