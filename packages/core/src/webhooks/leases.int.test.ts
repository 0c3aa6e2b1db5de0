import { toUuid, type OrgId } from '@millrace/platform/ids';
import { eventually } from '@millrace/testing';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { wakeQueue } from './deliveries.store.ts';
import { PUBLIC_ADDRESS, openWebhookHarness } from './webhooks-harness.fixture.ts';

/** Tests what happens to webhooks when their worker is interrupted. */

let orgId: OrgId;
const harness = await openWebhookHarness();
beforeEach(async () => {
  orgId = await harness.newOrganisation();
  harness.names.set('hooks.example.com', () => PUBLIC_ADDRESS);
});
afterEach(() => harness.stopAll());
afterAll(() => harness.close());

async function newHook() {
  const receiver = await harness.newReceiver();
  const url = `https://hooks.example.com:${receiver.port}/in`;
  return { receiver, url, webhook: await harness.seed(orgId, url) };
}

it('a worker releases a webhook whose sending was interrupted, while it sends for others', async () => {
  const { url, webhook } = await newHook();
  const { receiver: slow } = await newHook();
  slow.respond = () => undefined;
  const post = harness.post({ timeoutMs: 60_000 });
  let interrupted = 0;
  harness.deliverer({
    // A longer stall of the machine would also expire the lease of the other webhook, which is then sent again.
    tuning: { leaseTtlMs: 12_000 },
    post: (posted) => {
      if (posted.url !== url || interrupted > 0) return post(posted);
      interrupted += 1;
      return Promise.reject(new Error('interrupted'));
    },
  });
  await harness.publish(orgId, ['a']);
  await eventually({ what: 'it hangs on the other' }, () => slow.received.length === 1);
  const [stored] = await harness.settled(webhook.id);
  expect([interrupted, stored?.status, slow.received.length]).toEqual([1, 'succeeded', 1]);
});

it('a long queue behind a failed delivery costs one look-up, and the webhook is released', async () => {
  const { receiver, webhook } = await newHook();
  receiver.respond = ({ event }) => (event.resource.id === 'full' ? 500 : 200);
  await harness.publish(orgId, ['full']);
  const waiting = 50_000;
  const atOnce = 10_000;
  for (let from = 1; from < waiting; from += atOnce) {
    await sql`
      insert into webhook_deliveries (webhook_id, seq, id, org_id, mode, event_id, event_type, resource_kind, resource_id,
                                      next_attempt_at)
      select webhook_id, seq + nth, id, org_id, mode, event_id, event_type, resource_kind, resource_id, next_attempt_at
        from webhook_deliveries, generate_series(${from}::integer, ${from + atOnce - 1}::integer) as nth
       where webhook_id = ${toUuid(webhook.id)} and seq = 1`.execute(harness.db.kysely);
  }
  harness.deliverer();
  const [first, second] = await harness.settled(webhook.id);
  expect([first?.attempts.length, second?.attempts.length]).toEqual([1, 0]);
  // A delivery of another resource is sent although all older due deliveries wait behind the failed one.
  await sql`update event_heads set last_seq = ${waiting + 1} where org_id = ${toUuid(orgId)}`.execute(
    harness.db.kysely,
  );
  await harness.clock.advance(1);
  await harness.publish(orgId, ['free']);
  const last = (await harness.settled(webhook.id)).at(-1);
  expect(last?.status).toBe('succeeded');
  expect(receiver.received.map(({ event }) => event.resource.id)).toEqual(['full', 'free']);
});

it('deliveries that failed at the old URL go to the new one at once with a full retry schedule', async () => {
  const { receiver, webhook } = await newHook();
  receiver.respond = () => (receiver.received.length < 3 ? 500 : 200);
  harness.deliverer();
  await harness.publish(orgId, ['a', 'a']);
  await harness.settled(webhook.id);
  await harness.clock.advance(5_000);
  await eventually({ what: 'the second failure' }, () => receiver.received.length === 2);
  const [second] = await harness.settled(webhook.id);
  expect(second?.nextAttemptAt?.getTime()).toBe(harness.clock.nowMs() + 300_000);
  await harness.db.transaction({ name: 'move webhook', isolation: 'read committed' }, (tx) =>
    wakeQueue(tx, orgId, webhook.id, { fresh: true }),
  );
  const deliveries = await harness.settled(webhook.id);
  expect(deliveries.map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
});
