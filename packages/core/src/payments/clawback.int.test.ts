import { readFile } from 'node:fs/promises';
import { toUuid } from '@millrace/platform/ids';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { runAudit } from '../auditor/index.ts';
import { usd } from './payments.fixture.ts';
import {
  completed,
  disputeOf,
  eventOutcomes,
  failedRefundOf,
  refundOf,
  startPaymentsHarness,
} from './payments-harness.fixture.ts';

const harness = await startPaymentsHarness();
afterAll(() => harness[Symbol.asyncDispose]());

/** After each test, cleared and absorbed amounts in the ledger must match every payment row. */
afterEach(async () => {
  const { rows } = await harness.database.query<{ compared: string; wrong: string }>(`
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
  expect(Number(rows[0]?.compared)).toBeGreaterThan(0);
  expect(Number(rows[0]?.wrong)).toBe(0);
  const audit = await runAudit(harness.database.db, { kind: 'full' });
  expect(audit?.outcomes.find(({ check }) => check === 'payment_clawback')).toMatchObject({ found: 0 });
});

/** Clears all debts, as before the migration that introduced them, and runs its statements. */
async function writeOffAsBeforeDebts(): Promise<void> {
  const file = new URL('../../../../db/migrations/0041_written_off_clawbacks.sql', import.meta.url);
  const noting = (await readFile(file, 'utf8'))
    .split(';')
    .filter((statement) => /^\s*(insert into|update)/.test(statement));
  expect(noting).toHaveLength(2);
  await harness.database.query('update ledger_accounts set owed_nano_usd = 0 where owed_nano_usd > 0');
  for (const statement of noting) await harness.database.query(statement);
}

async function wrongDebts(): Promise<number> {
  const audit = await runAudit(harness.database.db, { kind: 'full' });
  const outcome = audit?.outcomes.find(({ check }) => check === 'clawback_debt');
  return outcome?.found ?? expect.fail('The debts were not audited.');
}

describe('refund', () => {
  it('takes back partial refunds exactly once, in any order of reports', async () => {
    const call = await harness.newCaller();
    const { payment, intent } = await harness.paid(call);
    await harness.send(refundOf(intent, 30));
    expect((await harness.money(call.orgId)).balance).toBe(usd(70));
    await harness.send(refundOf(intent, 50));
    await harness.send(refundOf(intent, 30));
    await Promise.all(Array.from({ length: 5 }, () => harness.send(refundOf(intent, 50))));
    expect((await harness.money(call.orgId)).balance).toBe(usd(50));
    expect(await harness.read(payment)).toMatchObject({
      state: 'paid',
      refunded: usd(50),
      clawedBack: usd(50),
    });
    await harness.send(refundOf(intent, 100));
    expect(await harness.read(payment)).toMatchObject({ state: 'refunded', clawedBack: usd(100) });
    expect(await harness.transfers(payment.id)).toEqual([
      ['top_up', usd(100)],
      ['clawback', usd(-30)],
      ['clawback', usd(-20)],
      ['clawback', usd(-50)],
    ]);
    expect(await harness.money(call.orgId)).toEqual({ balance: 0n, available: 0n, frozen: false });
  });

  it('that fails at the bank returns the credit once, and the absorbed part to the operator', async () => {
    const call = await harness.newCaller();
    const { payment, intent } = await harness.paid(call);
    await harness.spend(call.orgId, 70);
    await harness.send(refundOf(intent, 100));
    expect((await harness.money(call.orgId)).balance).toBe(0n);
    await harness.send(failedRefundOf(intent, 100));
    await harness.send(failedRefundOf(intent, 100, { type: 'charge.refund.updated' }));
    expect((await harness.money(call.orgId)).balance).toBe(usd(30));
    expect(await harness.read(payment)).toMatchObject({
      state: 'paid',
      refunded: 0n,
      clawedBack: 0n,
      shortfall: 0n,
    });
    expect(await harness.shortfall(payment.id)).toBe(0n);
  });

  it('is kept if another refund fails, even if an older process recorded it without a total', async () => {
    const call = await harness.newCaller();
    const { payment, intent } = await harness.paid(call);
    await harness.send(refundOf(intent, 60));
    await harness.database.query(
      'update payments set refund_total_nano_usd = 0, refund_told_at = null where id = $1',
      [toUuid(payment.id)],
    );
    await harness.send(failedRefundOf(intent, 20));
    expect(await harness.read(payment)).toMatchObject({ refunded: usd(40), clawedBack: usd(40) });
    expect((await harness.money(call.orgId)).balance).toBe(usd(60));
  });

  it('of spent money takes the available balance, the operator absorbs the rest, and the floor is kept', async () => {
    const call = await harness.newCaller();
    const { payment, intent } = await harness.paid(call);
    await harness.spend(call.orgId, 70);
    await harness.send(refundOf(intent, 100));
    expect((await harness.money(call.orgId)).balance).toBe(0n);
    expect(await harness.read(payment)).toMatchObject({ clawedBack: usd(100), shortfall: usd(70) });
    expect(await harness.shortfall(payment.id)).toBe(usd(70));
  });

  it('of held money takes the rest when the hold is released', async () => {
    const call = await harness.newCaller();
    const { payment, intent } = await harness.paid(call);
    const holdId = await harness.hold(call.orgId, 90);
    await harness.send(refundOf(intent, 100));
    expect(await harness.money(call.orgId)).toMatchObject({ balance: usd(90), available: 0n });
    await harness.closeHold(call.orgId, holdId);
    expect(await harness.money(call.orgId)).toEqual({ balance: 0n, available: 0n, frozen: false });
    expect(await harness.read(payment)).toMatchObject({ state: 'refunded', clawedBack: usd(100) });
  });

  it('of held and then used money is repaid from the next top-up', async () => {
    const call = await harness.newCaller();
    const { intent } = await harness.paid(call);
    const holdId = await harness.hold(call.orgId, 90);
    await harness.send(refundOf(intent, 100));
    await harness.closeHold(call.orgId, holdId, 60);
    expect(await harness.money(call.orgId)).toMatchObject({ balance: 0n, available: 0n });
    await harness.paid(call, 50);
    expect(await harness.money(call.orgId)).toMatchObject({ balance: 0n, available: 0n });
    await harness.paid(call, 50);
    expect(await harness.money(call.orgId)).toMatchObject({ balance: usd(40), available: usd(40) });
  });

  it('reported before its payment is applied once the payment is known', async () => {
    const call = await harness.newCaller();
    const opened = await harness.open(call);
    const session = harness.stripe.pay(harness.stripe.sessionOf(opened.id).id);
    const intent = session.payment_intent ?? '';
    await harness.send(refundOf(intent, 40));
    expect(await eventOutcomes(harness.db, opened.id)).toEqual([]);
    await harness.send(completed(session));
    expect((await harness.money(call.orgId)).balance).toBe(usd(60));
    expect(await harness.read(opened)).toMatchObject({
      state: 'paid',
      refunded: usd(40),
      clawedBack: usd(40),
    });
    expect(await eventOutcomes(harness.db, opened.id)).toEqual(['applied', 'applied']);
  });

  it('of an unknown payment moves no money', async () => {
    const call = await harness.newCaller();
    await harness.paid(call);
    await harness.send(refundOf('pi_of_another_product', 100));
    expect((await harness.money(call.orgId)).balance).toBe(usd(100));
  });
});

describe('dispute', () => {
  it('takes the money back and freezes; if won, it returns the money and lifts the freeze', async () => {
    const call = await harness.newCaller();
    const { payment, intent } = await harness.paid(call);
    await harness.send(disputeOf(intent, 'needs_response', { second: 1 }));
    expect(await harness.money(call.orgId)).toEqual({ balance: 0n, available: 0n, frozen: true });
    expect((await harness.read(payment)).state).toBe('disputed');
    await harness.send(disputeOf(intent, 'won', { second: 2 }));
    await harness.send(disputeOf(intent, 'needs_response', { second: 1 }));
    expect(await harness.money(call.orgId)).toEqual({
      balance: usd(100),
      available: usd(100),
      frozen: false,
    });
    expect(await harness.read(payment)).toMatchObject({ state: 'paid', clawedBack: 0n, shortfall: 0n });
    expect(await harness.transfers(payment.id)).toEqual([
      ['top_up', usd(100)],
      ['clawback', usd(-100)],
      ['reversal', usd(100)],
    ]);
  });

  it('won after the money was spent returns each part to the organisation or the operator', async () => {
    const call = await harness.newCaller();
    const { payment, intent } = await harness.paid(call);
    await harness.spend(call.orgId, 70);
    await harness.send(disputeOf(intent, 'needs_response', { second: 1 }));
    expect(await harness.shortfall(payment.id)).toBe(usd(70));
    await harness.send(disputeOf(intent, 'won', { second: 2 }));
    expect((await harness.money(call.orgId)).balance).toBe(usd(30));
    expect(await harness.shortfall(payment.id)).toBe(0n);
  });

  it('won after a hold released disputed money returns all of it to the organisation', async () => {
    const call = await harness.newCaller();
    const { payment, intent } = await harness.paid(call);
    const holdId = await harness.hold(call.orgId, 90);
    await harness.send(disputeOf(intent, 'needs_response', { second: 1 }));
    await harness.closeHold(call.orgId, holdId, 20);
    expect(await harness.money(call.orgId)).toEqual({ balance: 0n, available: 0n, frozen: true });
    await harness.send(disputeOf(intent, 'won', { second: 2 }));
    expect(await harness.money(call.orgId)).toEqual({ balance: usd(80), available: usd(80), frozen: false });
    expect(await harness.read(payment)).toMatchObject({ clawedBack: 0n, shortfall: 0n });
  });

  it('won returns the repaid debt, although the shortfall of an older dispute was written off', async () => {
    const call = await harness.newCaller();
    const old = await harness.paid(call);
    await harness.spend(call.orgId, 70);
    const { intent } = await harness.paid(call);
    const holdId = await harness.hold(call.orgId, 100);
    await harness.send(disputeOf(old.intent, 'needs_response', { second: 1 }));
    await writeOffAsBeforeDebts();
    // The write-off also changed organisations of other tests, which had repaid debts before.
    const wrongBefore = await wrongDebts();
    await harness.send(disputeOf(intent, 'needs_response', { second: 1 }));
    await harness.closeHold(call.orgId, holdId);
    expect((await harness.money(call.orgId)).balance).toBe(0n);
    await harness.send(disputeOf(intent, 'won', { second: 2 }));
    expect((await harness.money(call.orgId)).balance).toBe(usd(100));
    await harness.send(disputeOf(old.intent, 'won', { second: 2 }));
    expect((await harness.money(call.orgId)).balance).toBe(usd(130));
    expect(await wrongDebts()).toBe(wrongBefore);
  });

  it('won while the disputed money is held leaves the hold unchanged', async () => {
    const call = await harness.newCaller();
    const { intent } = await harness.paid(call);
    const holdId = await harness.hold(call.orgId, 90);
    await harness.send(disputeOf(intent, 'needs_response', { second: 1 }));
    await harness.send(disputeOf(intent, 'won', { second: 2 }));
    expect(await harness.money(call.orgId)).toMatchObject({ balance: usd(100), available: usd(10) });
    await harness.closeHold(call.orgId, holdId, 20);
    expect(await harness.money(call.orgId)).toMatchObject({ balance: usd(80), available: usd(80) });
  });

  it('won beside a refund returns only the disputed amount', async () => {
    const call = await harness.newCaller();
    const { payment, intent } = await harness.paid(call);
    await harness.spend(call.orgId, 70);
    await harness.send(refundOf(intent, 40));
    await harness.send(disputeOf(intent, 'needs_response', { dollars: 60, second: 1 }));
    expect(await harness.shortfall(payment.id)).toBe(usd(70));
    await harness.send(disputeOf(intent, 'won', { dollars: 60, second: 2 }));
    expect(await harness.shortfall(payment.id)).toBe(usd(10));
    expect(await harness.read(payment)).toMatchObject({ clawedBack: usd(40), shortfall: usd(10) });
    expect((await harness.money(call.orgId)).balance).toBe(0n);
  });

  it('lost keeps the money and leaves the account frozen for the operator', async () => {
    const call = await harness.newCaller();
    const { payment, intent } = await harness.paid(call);
    await harness.send(disputeOf(intent, 'needs_response', { second: 1 }));
    await harness.send(disputeOf(intent, 'lost', { second: 2 }));
    expect((await harness.read(payment)).state).toBe('charged_back');
    expect(await harness.money(call.orgId)).toEqual({ balance: 0n, available: 0n, frozen: true });
    expect(await harness.transfers(payment.id)).toHaveLength(2);
  });

  it('that is only an inquiry moves no money and freezes nothing', async () => {
    const call = await harness.newCaller();
    const { intent } = await harness.paid(call);
    await harness.send(disputeOf(intent, 'warning_needs_response', { second: 1 }));
    expect(await harness.money(call.orgId)).toEqual({
      balance: usd(100),
      available: usd(100),
      frozen: false,
    });
    await harness.send(disputeOf(intent, 'needs_response', { second: 2 }));
    expect((await harness.money(call.orgId)).frozen).toBe(true);
  });

  it('won lifts the freeze only if no other payment of the organisation is disputed', async () => {
    const call = await harness.newCaller();
    const [one, two] = [await harness.paid(call), await harness.paid(call)];
    await harness.send(disputeOf(one.intent, 'needs_response', { second: 1 }));
    await harness.send(disputeOf(two.intent, 'needs_response', { second: 1 }));
    await harness.send(disputeOf(one.intent, 'won', { second: 2 }));
    expect(await harness.money(call.orgId)).toMatchObject({ balance: usd(100), frozen: true });
    await harness.send(disputeOf(two.intent, 'won', { second: 2 }));
    expect(await harness.money(call.orgId)).toMatchObject({ balance: usd(200), frozen: false });
  });

  it('won while another one opens concurrently never leaves the account unfrozen', async () => {
    for (let round = 0; round < 6; round += 1) {
      const call = await harness.newCaller();
      const [one, two] = [await harness.paid(call), await harness.paid(call)];
      // Everything is already taken back, so the disputes move no money and share no ledger row.
      for (const { intent } of [one, two]) await harness.send(refundOf(intent, 100));
      await harness.send(disputeOf(one.intent, 'needs_response', { second: 1 }));
      await Promise.all([
        harness.send(disputeOf(one.intent, 'won', { second: 2 })),
        harness.send(disputeOf(two.intent, 'needs_response', { second: 2 })),
      ]);
      expect(await harness.money(call.orgId)).toMatchObject({ balance: 0n, frozen: true });
    }
  });

  it('reported concurrently with its payment is always applied', async () => {
    for (let round = 0; round < 6; round += 1) {
      const call = await harness.newCaller();
      const opened = await harness.open(call);
      const session = harness.stripe.pay(harness.stripe.sessionOf(opened.id).id);
      const intent = session.payment_intent ?? '';
      await Promise.all([
        harness.send(disputeOf(intent, 'needs_response', { second: 1 })),
        harness.send(completed(session)),
        harness.send(refundOf(intent, 10)),
      ]);
      expect(await harness.money(call.orgId)).toEqual({ balance: 0n, available: 0n, frozen: true });
      expect(await harness.read(opened)).toMatchObject({
        state: 'disputed',
        refunded: usd(10),
        clawedBack: usd(100),
      });
    }
  });

  it('reported before its payment freezes and takes back as soon as the payment is known', async () => {
    const call = await harness.newCaller();
    const opened = await harness.open(call);
    const session = harness.stripe.pay(harness.stripe.sessionOf(opened.id).id);
    const intent = session.payment_intent ?? '';
    await harness.send(disputeOf(intent, 'lost', { second: 2 }));
    await harness.send(disputeOf(intent, 'needs_response', { second: 1 }));
    await harness.send(completed(session));
    expect((await harness.read(opened)).state).toBe('charged_back');
    expect(await harness.money(call.orgId)).toEqual({ balance: 0n, available: 0n, frozen: true });
  });
});
