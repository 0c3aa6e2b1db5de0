import { toUuid } from '@millrace/platform/ids';
import { poisonedLoop, poisonRows, type Poison } from '@millrace/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { usd } from './payments.fixture.ts';
import { startPaymentsHarness, type PaymentsHarness } from './payments-harness.fixture.ts';

// Each test has a world of its own: a sweep takes whatever is due.
let world: PaymentsHarness;
beforeEach(async () => {
  world = await startPaymentsHarness();
});
afterEach(() => world[Symbol.asyncDispose]());

const times = <T>(count: number, act: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, act));

describe('the sweep', () => {
  it('finds what an event was lost about: paid, expired, and pages that were never made', async () => {
    const call = await world.newCaller();
    const paid = await world.open(call);
    world.stripe.pay(world.stripe.sessionOf(paid.id).id);
    const expired = await world.open(call);
    world.stripe.change(world.stripe.sessionOf(expired.id).id, { status: 'expired' });
    const unopened = await world.start(call);
    const still = await world.open(call);

    await world.inMinutes(9).checkDue(1_000);
    expect((await world.read(paid)).state).toBe('open');
    await world.inMinutes(11).checkDue(1_000);
    const states = await Promise.all(
      [paid, expired, unopened, still].map(async (each) => (await world.read(each)).state),
    );
    expect(states).toEqual(['paid', 'expired', 'open', 'open']);
    expect((await world.money(call.orgId)).balance).toBe(usd(100));
  });

  it('asks ever more rarely, and one worker at a time', async () => {
    const call = await world.newCaller();
    const { id } = await world.open(call);
    const checks = async () => {
      const row = await world.db.kysely
        .selectFrom('payments')
        .select('checks')
        .where('id', '=', toUuid(id))
        .executeTakeFirstOrThrow();
      return row.checks;
    };
    const seen: number[] = [];
    for (const minutes of [11, 12, 22, 40, 62]) {
      await times(3, () => world.inMinutes(minutes).checkDue(1_000));
      seen.push(await checks());
    }
    expect(seen).toEqual([1, 1, 2, 2, 3]);
  });

  it('ends a payment whose page is so old that asking again could make a second one', async () => {
    const unopened = await world.start(await world.newCaller());
    const calls = world.stripe.calls();
    const tomorrow = world.inMinutes(21 * 60);
    expect((await tomorrow.openCheckout(unopened.orgId, 'live', unopened.id)).state).toBe('created');
    expect(world.stripe.calls()).toBe(calls);
    await tomorrow.checkDue(1_000);
    expect((await world.read(unopened)).state).toBe('expired');
  });

  describe(poisonedLoop('ask about undecided payments'), () => {
    it('goes on after a payment that Stripe does not know', async () => {
      const call = await world.newCaller();
      const opened = [await world.open(call), await world.open(call)];
      for (const { id } of opened) world.stripe.pay(world.stripe.sessionOf(id).id);
      world.stripe.failNext('refused');
      expect(await world.inMinutes(11).checkDue(1_000)).toBe(2);
      const states = await Promise.all(opened.map(async (each) => (await world.read(each)).state));
      expect(states.toSorted()).toEqual(['open', 'paid']);
      await world.inMinutes(32).checkDue(1_000);
      expect((await world.money(call.orgId)).balance).toBe(usd(200));
    });

    it.each<Poison>(['throws', 'times out'])(
      'whose write %s delays no other payment, and is credited once after the cause is gone',
      async (how) => {
        const call = await world.newCaller();
        const opened = [await world.open(call), await world.open(call)] as const;
        for (const { id } of opened) world.stripe.pay(world.stripe.sessionOf(id).id);
        const when = `new.id = '${toUuid(opened[0].id)}' and new.state = 'paid'`;
        const removeFault = await poisonRows(world.database, { table: 'payments', when, how });
        await world.inMinutes(11).checkDue(1_000);
        expect(await Promise.all(opened.map(async (each) => (await world.read(each)).state))).toEqual([
          'open',
          'paid',
        ]);
        await removeFault();
        await world.inMinutes(60).checkDue(1_000);
        await world.inMinutes(120).checkDue(1_000);
        expect((await world.money(call.orgId)).balance).toBe(usd(200));
      },
    );
  });

  it('asks no further while Stripe is away, and asks again when it is back', async () => {
    const call = await world.newCaller();
    for (let n = 0; n < 3; n += 1) {
      const { id } = await world.open(call);
      world.stripe.pay(world.stripe.sessionOf(id).id);
    }
    const calls = world.stripe.calls();
    world.stripe.failNext('unavailable');
    await world.inMinutes(11).checkDue(1_000);
    expect(world.stripe.calls()).toBe(calls + 1);
    await world.inMinutes(32).checkDue(1_000);
    expect((await world.money(call.orgId)).balance).toBe(usd(300));
  });

  it('does nothing where no cards are taken', async () => {
    await world.open(await world.newCaller());
    expect(await world.with({ stripe: null }).checkDue(1_000)).toBe(0);
  });
});
