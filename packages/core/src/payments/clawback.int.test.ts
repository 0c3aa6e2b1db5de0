import { readFile } from 'node:fs/promises';
import { toUuid } from '@millrace/platform/ids';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { runAudit } from '../auditor/index.ts';
import { usd } from './payments.fixture.ts';
import {
  completed,
  disputeOf,
  eventOutcomes,
  failedRefundOf,
  refundOf,
  startPaymentsHarness,
  type PaymentsHarness,
} from './payments-harness.fixture.ts';

let world: PaymentsHarness;
beforeAll(async () => {
  world = await startPaymentsHarness();
});
afterAll(() => world[Symbol.asyncDispose]());

/** Whatever a test did: what came through clearing for each payment, and what the operator bears, is what its row says. */
afterEach(async () => {
  const client = await world.database.connect();
  const { rows } = await client.query<{ compared: string; wrong: string }>(`
    select count(*) as compared,
           count(*) filter (where cleared <> credited_nano_usd - clawed_back_nano_usd
                               or borne <> shortfall_nano_usd) as wrong
      from payments
      join (select t.org_id, t.cause_id,
                   coalesce(sum(-e.amount_nano_usd) filter (where a.kind = 'payments_clearing'), 0) as cleared,
                   coalesce(sum(-e.amount_nano_usd) filter (where a.kind = 'shortfall'), 0) as borne
              from ledger_transfers t
              join ledger_entries e on e.transfer_id = t.id
              join ledger_accounts a on a.id = e.account_id
             where t.cause_kind = 'payment'
             group by t.org_id, t.cause_id) as moved
        on uuid_of_public_id(moved.cause_id) = payments.id and moved.org_id = payments.org_id`);
  await client.end();
  expect(Number(rows[0]?.compared)).toBeGreaterThan(0);
  expect(Number(rows[0]?.wrong)).toBe(0);
  const audit = await runAudit(world.database.db, { kind: 'full' });
  expect(audit?.outcomes.find(({ check }) => check === 'payment_clawback')).toMatchObject({ found: 0 });
});

/** Makes all debts what they were before the migration that keeps them, and runs the statements that note them. */
async function writeOffAsBeforeDebts(): Promise<void> {
  const file = new URL('../../../../db/migrations/0041_written_off_clawbacks.sql', import.meta.url);
  const noting = (await readFile(file, 'utf8'))
    .split(';')
    .filter((statement) => /^\s*(insert into|update)/.test(statement));
  expect(noting).toHaveLength(2);
  const client = await world.database.connect();
  await client.query('update ledger_accounts set owed_nano_usd = 0 where owed_nano_usd > 0');
  for (const statement of noting) await client.query(statement);
  await client.end();
}

async function wrongDebts(): Promise<number> {
  const audit = await runAudit(world.database.db, { kind: 'full' });
  const outcome = audit?.outcomes.find(({ check }) => check === 'clawback_debt');
  return outcome?.found ?? expect.fail('The debts were not audited.');
}

describe('a refund', () => {
  it('takes back what was paid back, in parts, however often and in whatever order it is told', async () => {
    const call = await world.newCaller();
    const { payment, intent } = await world.paid(call);
    await world.send(refundOf(intent, 30));
    expect((await world.money(call.orgId)).balance).toBe(usd(70));
    await world.send(refundOf(intent, 50));
    await world.send(refundOf(intent, 30));
    await Promise.all(Array.from({ length: 5 }, () => world.send(refundOf(intent, 50))));
    expect((await world.money(call.orgId)).balance).toBe(usd(50));
    expect(await world.read(payment)).toMatchObject({
      state: 'paid',
      refunded: usd(50),
      clawedBack: usd(50),
    });
    await world.send(refundOf(intent, 100));
    expect(await world.read(payment)).toMatchObject({ state: 'refunded', clawedBack: usd(100) });
    expect(await world.transfers(payment.id)).toEqual([
      ['top_up', usd(100)],
      ['clawback', usd(-30)],
      ['clawback', usd(-20)],
      ['clawback', usd(-50)],
    ]);
    expect(await world.money(call.orgId)).toEqual({ balance: 0n, available: 0n, frozen: false });
  });

  it('that fails at the bank gives back what was taken, also from the operator, once', async () => {
    const call = await world.newCaller();
    const { payment, intent } = await world.paid(call);
    await world.spend(call.orgId, 70);
    await world.send(refundOf(intent, 100));
    expect((await world.money(call.orgId)).balance).toBe(0n);
    await world.send(failedRefundOf(intent, 100));
    await world.send(failedRefundOf(intent, 100, { type: 'charge.refund.updated' }));
    expect((await world.money(call.orgId)).balance).toBe(usd(30));
    expect(await world.read(payment)).toMatchObject({
      state: 'paid',
      refunded: 0n,
      clawedBack: 0n,
      shortfall: 0n,
    });
    expect(await world.shortfall(payment.id)).toBe(0n);
  });

  it('counts when another refund fails, even if an older process recorded it without a total', async () => {
    const call = await world.newCaller();
    const { payment, intent } = await world.paid(call);
    await world.send(refundOf(intent, 60));
    const client = await world.database.connect();
    await client.query('update payments set refund_total_nano_usd = 0, refund_told_at = null where id = $1', [
      toUuid(payment.id),
    ]);
    await client.end();
    await world.send(failedRefundOf(intent, 20));
    expect(await world.read(payment)).toMatchObject({ refunded: usd(40), clawedBack: usd(40) });
    expect((await world.money(call.orgId)).balance).toBe(usd(60));
  });

  it('of money that was spent takes what is there; the operator bears the rest, and the balance keeps its floor', async () => {
    const call = await world.newCaller();
    const { payment, intent } = await world.paid(call);
    await world.spend(call.orgId, 70);
    await world.send(refundOf(intent, 100));
    expect((await world.money(call.orgId)).balance).toBe(0n);
    expect(await world.read(payment)).toMatchObject({ clawedBack: usd(100), shortfall: usd(70) });
    expect(await world.shortfall(payment.id)).toBe(usd(70));
  });

  it('of money that is held takes the rest when the hold releases it', async () => {
    const call = await world.newCaller();
    const { payment, intent } = await world.paid(call);
    const holdId = await world.hold(call.orgId, 90);
    await world.send(refundOf(intent, 100));
    expect(await world.money(call.orgId)).toMatchObject({ balance: usd(90), available: 0n });
    await world.closeHold(call.orgId, holdId);
    expect(await world.money(call.orgId)).toEqual({ balance: 0n, available: 0n, frozen: false });
    expect(await world.read(payment)).toMatchObject({ state: 'refunded', clawedBack: usd(100) });
  });

  it('of money that was held and then used is paid from the next top-up', async () => {
    const call = await world.newCaller();
    const { intent } = await world.paid(call);
    const holdId = await world.hold(call.orgId, 90);
    await world.send(refundOf(intent, 100));
    await world.closeHold(call.orgId, holdId, 60);
    expect(await world.money(call.orgId)).toMatchObject({ balance: 0n, available: 0n });
    await world.paid(call, 50);
    expect(await world.money(call.orgId)).toMatchObject({ balance: 0n, available: 0n });
    await world.paid(call, 50);
    expect(await world.money(call.orgId)).toMatchObject({ balance: usd(40), available: usd(40) });
  });

  it('that is told before the payment waits for it, and is not forgotten', async () => {
    const call = await world.newCaller();
    const opened = await world.open(call);
    const session = world.stripe.pay(world.stripe.sessionOf(opened.id).id);
    const intent = session.payment_intent ?? '';
    await world.send(refundOf(intent, 40));
    expect(await eventOutcomes(world.db, opened.id)).toEqual([]);
    await world.send(completed(session));
    expect((await world.money(call.orgId)).balance).toBe(usd(60));
    expect(await world.read(opened)).toMatchObject({ state: 'paid', refunded: usd(40), clawedBack: usd(40) });
    expect(await eventOutcomes(world.db, opened.id)).toEqual(['applied', 'applied']);
  });

  it('of a payment that is not ours moves nothing', async () => {
    const call = await world.newCaller();
    await world.paid(call);
    await world.send(refundOf('pi_of_another_product', 100));
    expect((await world.money(call.orgId)).balance).toBe(usd(100));
  });
});

describe('a dispute', () => {
  it('takes the money back and freezes; won, it gives back and lifts the freeze', async () => {
    const call = await world.newCaller();
    const { payment, intent } = await world.paid(call);
    await world.send(disputeOf(intent, 'needs_response', { second: 1 }));
    expect(await world.money(call.orgId)).toEqual({ balance: 0n, available: 0n, frozen: true });
    expect((await world.read(payment)).state).toBe('disputed');
    await world.send(disputeOf(intent, 'won', { second: 2 }));
    await world.send(disputeOf(intent, 'needs_response', { second: 1 }));
    expect(await world.money(call.orgId)).toEqual({ balance: usd(100), available: usd(100), frozen: false });
    expect(await world.read(payment)).toMatchObject({ state: 'paid', clawedBack: 0n, shortfall: 0n });
    expect(await world.transfers(payment.id)).toEqual([
      ['top_up', usd(100)],
      ['clawback', usd(-100)],
      ['reversal', usd(100)],
    ]);
  });

  it('won after the money was spent gives back what was the organisation’s, and to the operator what it bore', async () => {
    const call = await world.newCaller();
    const { payment, intent } = await world.paid(call);
    await world.spend(call.orgId, 70);
    await world.send(disputeOf(intent, 'needs_response', { second: 1 }));
    expect(await world.shortfall(payment.id)).toBe(usd(70));
    await world.send(disputeOf(intent, 'won', { second: 2 }));
    expect((await world.money(call.orgId)).balance).toBe(usd(30));
    expect(await world.shortfall(payment.id)).toBe(0n);
  });

  it('won after a hold released disputed money gives all of it back to the organisation', async () => {
    const call = await world.newCaller();
    const { payment, intent } = await world.paid(call);
    const holdId = await world.hold(call.orgId, 90);
    await world.send(disputeOf(intent, 'needs_response', { second: 1 }));
    await world.closeHold(call.orgId, holdId, 20);
    expect(await world.money(call.orgId)).toEqual({ balance: 0n, available: 0n, frozen: true });
    await world.send(disputeOf(intent, 'won', { second: 2 }));
    expect(await world.money(call.orgId)).toEqual({ balance: usd(80), available: usd(80), frozen: false });
    expect(await world.read(payment)).toMatchObject({ clawedBack: 0n, shortfall: 0n });
  });

  it('won gives back what its organisation repaid, though the shortfall of an older dispute was written off', async () => {
    const call = await world.newCaller();
    const old = await world.paid(call);
    await world.spend(call.orgId, 70);
    const { intent } = await world.paid(call);
    const holdId = await world.hold(call.orgId, 100);
    await world.send(disputeOf(old.intent, 'needs_response', { second: 1 }));
    await writeOffAsBeforeDebts();
    // The write-off also changed organisations of other tests, which had repaid debts before.
    const wrongBefore = await wrongDebts();
    await world.send(disputeOf(intent, 'needs_response', { second: 1 }));
    await world.closeHold(call.orgId, holdId);
    expect((await world.money(call.orgId)).balance).toBe(0n);
    await world.send(disputeOf(intent, 'won', { second: 2 }));
    expect((await world.money(call.orgId)).balance).toBe(usd(100));
    await world.send(disputeOf(old.intent, 'won', { second: 2 }));
    expect((await world.money(call.orgId)).balance).toBe(usd(130));
    expect(await wrongDebts()).toBe(wrongBefore);
  });

  it('won while the disputed money is still held leaves the hold as it was', async () => {
    const call = await world.newCaller();
    const { intent } = await world.paid(call);
    const holdId = await world.hold(call.orgId, 90);
    await world.send(disputeOf(intent, 'needs_response', { second: 1 }));
    await world.send(disputeOf(intent, 'won', { second: 2 }));
    expect(await world.money(call.orgId)).toMatchObject({ balance: usd(100), available: usd(10) });
    await world.closeHold(call.orgId, holdId, 20);
    expect(await world.money(call.orgId)).toMatchObject({ balance: usd(80), available: usd(80) });
  });

  it('won beside a refund gives back only what was disputed', async () => {
    const call = await world.newCaller();
    const { payment, intent } = await world.paid(call);
    await world.spend(call.orgId, 70);
    await world.send(refundOf(intent, 40));
    await world.send(disputeOf(intent, 'needs_response', { dollars: 60, second: 1 }));
    expect(await world.shortfall(payment.id)).toBe(usd(70));
    await world.send(disputeOf(intent, 'won', { dollars: 60, second: 2 }));
    expect(await world.shortfall(payment.id)).toBe(usd(10));
    expect(await world.read(payment)).toMatchObject({ clawedBack: usd(40), shortfall: usd(10) });
    expect((await world.money(call.orgId)).balance).toBe(0n);
  });

  it('lost leaves the money away and the account frozen for the operator to lift', async () => {
    const call = await world.newCaller();
    const { payment, intent } = await world.paid(call);
    await world.send(disputeOf(intent, 'needs_response', { second: 1 }));
    await world.send(disputeOf(intent, 'lost', { second: 2 }));
    expect((await world.read(payment)).state).toBe('charged_back');
    expect(await world.money(call.orgId)).toEqual({ balance: 0n, available: 0n, frozen: true });
    expect(await world.transfers(payment.id)).toHaveLength(2);
  });

  it('that is only an inquiry of the bank moves and freezes nothing', async () => {
    const call = await world.newCaller();
    const { intent } = await world.paid(call);
    await world.send(disputeOf(intent, 'warning_needs_response', { second: 1 }));
    expect(await world.money(call.orgId)).toEqual({ balance: usd(100), available: usd(100), frozen: false });
    await world.send(disputeOf(intent, 'needs_response', { second: 2 }));
    expect((await world.money(call.orgId)).frozen).toBe(true);
  });

  it('won lifts the freeze only when no other payment of the organisation is disputed', async () => {
    const call = await world.newCaller();
    const [one, two] = [await world.paid(call), await world.paid(call)];
    await world.send(disputeOf(one.intent, 'needs_response', { second: 1 }));
    await world.send(disputeOf(two.intent, 'needs_response', { second: 1 }));
    await world.send(disputeOf(one.intent, 'won', { second: 2 }));
    expect(await world.money(call.orgId)).toMatchObject({ balance: usd(100), frozen: true });
    await world.send(disputeOf(two.intent, 'won', { second: 2 }));
    expect(await world.money(call.orgId)).toMatchObject({ balance: usd(200), frozen: false });
  });

  it('won while another is opened, at the same instant, never leaves the account unfrozen', async () => {
    for (let round = 0; round < 6; round += 1) {
      const call = await world.newCaller();
      const [one, two] = [await world.paid(call), await world.paid(call)];
      // All of it is taken back already, so the disputes move no money and meet at no row of the ledger.
      for (const { intent } of [one, two]) await world.send(refundOf(intent, 100));
      await world.send(disputeOf(one.intent, 'needs_response', { second: 1 }));
      await Promise.all([
        world.send(disputeOf(one.intent, 'won', { second: 2 })),
        world.send(disputeOf(two.intent, 'needs_response', { second: 2 })),
      ]);
      expect(await world.money(call.orgId)).toMatchObject({ balance: 0n, frozen: true });
    }
  });

  it('and the payment it is about, told at the same instant, never miss each other', async () => {
    for (let round = 0; round < 6; round += 1) {
      const call = await world.newCaller();
      const opened = await world.open(call);
      const session = world.stripe.pay(world.stripe.sessionOf(opened.id).id);
      const intent = session.payment_intent ?? '';
      await Promise.all([
        world.send(disputeOf(intent, 'needs_response', { second: 1 })),
        world.send(completed(session)),
        world.send(refundOf(intent, 10)),
      ]);
      expect(await world.money(call.orgId)).toEqual({ balance: 0n, available: 0n, frozen: true });
      expect(await world.read(opened)).toMatchObject({
        state: 'disputed',
        refunded: usd(10),
        clawedBack: usd(100),
      });
    }
  });

  it('told before the payment freezes and takes back as soon as the payment is known', async () => {
    const call = await world.newCaller();
    const opened = await world.open(call);
    const session = world.stripe.pay(world.stripe.sessionOf(opened.id).id);
    const intent = session.payment_intent ?? '';
    await world.send(disputeOf(intent, 'lost', { second: 2 }));
    await world.send(disputeOf(intent, 'needs_response', { second: 1 }));
    await world.send(completed(session));
    expect((await world.read(opened)).state).toBe('charged_back');
    expect(await world.money(call.orgId)).toEqual({ balance: 0n, available: 0n, frozen: true });
  });
});
