import { createRandom, killBackends, waitForPoolRecovery } from '@millrace/testing';
import { afterAll, expect, it } from 'vitest';
import { usd } from './payments.fixture.ts';
import {
  completed,
  disputeOf,
  refundOf,
  startPaymentsHarness,
  type SentEvent,
} from './payments-harness.fixture.ts';

const harness = await startPaymentsHarness();
afterAll(() => harness[Symbol.asyncDispose]());

/** Repeats an event until it is accepted, as Stripe does. */
async function untilTaken(event: SentEvent): Promise<number> {
  for (let attempt = 1; attempt < 200; attempt += 1) {
    try {
      await harness.send(event);
      return attempt;
    } catch {
      await waitForPoolRecovery(harness.db);
    }
  }
  throw new Error('the event was never accepted');
}

/** Statements within the transaction of an event; a backend that runs one of them is killed. */
const places = [
  '%payment_events%',
  '%payments%',
  '%payment_disputes%',
  '%ledger_%',
  '%outbox%',
  '%',
] as const;

it('payment events are applied exactly once while database connections are killed at random', async () => {
  const random = createRandom(20_260_115);
  const call = await harness.newCaller();
  const rounds = 4;
  let attempts = 0;
  let kills = 0;
  for (let round = 0; round < rounds; round += 1) {
    const opened = await harness.open(call);
    const session = harness.stripe.pay(harness.stripe.sessionOf(opened.id).id);
    const intent = session.payment_intent ?? '';
    const events: readonly SentEvent[] = [
      { ...completed(session), id: `evt_paid_${opened.id}` },
      { ...refundOf(intent, 10), id: `evt_refund_${opened.id}` },
      { ...disputeOf(intent, 'needs_response', { dollars: 20, second: 1 }), id: `evt_open_${opened.id}` },
      { ...disputeOf(intent, 'won', { dollars: 20, second: 2 }), id: `evt_won_${opened.id}` },
    ];
    let isOver = false;
    const killing = (async () => {
      while (!isOver) kills += await killBackends(harness.database, places[random.int(0, places.length - 1)]);
    })();
    // Each event is sent twice, as Stripe may do.
    const taken = await Promise.all([...events, ...events].map(untilTaken)).finally(() => {
      isOver = true;
    });
    await killing;
    await waitForPoolRecovery(harness.db);
    attempts += taken.reduce((sum, each) => sum + each, 0);
    expect(await harness.read(opened)).toMatchObject({
      state: 'paid',
      refunded: usd(10),
      clawedBack: usd(10),
    });
  }
  expect((await harness.money(call.orgId)).balance).toBe(usd(90 * rounds));
  expect((await harness.money(call.orgId)).frozen).toBe(false);
  // Otherwise the test did not interrupt anything. Most interrupted transactions are repeated within one attempt.
  expect([kills > rounds, attempts >= rounds * 8]).toEqual([true, true]);
});
