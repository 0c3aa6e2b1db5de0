import { toUuid, type OrgId } from '@millrace/platform/ids';
import { eventually, hybridClock, failingLoop, poisonRows, testLog } from '@millrace/testing';
import type { ItemPoison, Poison, ReceivedDelivery } from '@millrace/testing';
import { sql } from 'kysely';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { resealWebhooks, cleanUpWebhooks } from './webhook-cleanup.ts';
import { retryWaitsMs } from './retry-schedule.ts';
import { sealSecret } from './sealed-secrets.ts';
import { mintSecret } from './signing.ts';
import { updateWebhook } from './webhooks.store.ts';
import { PUBLIC_ADDRESS, openWebhookHarness, type WebhookHarness } from './webhooks-harness.fixture.ts';

/** Tests which deliveries receivers get while they respond correctly and while they fail. */

let orgId: OrgId;
const harness = await openWebhookHarness();
beforeEach(async () => {
  orgId = await harness.newOrganisation();
});
afterEach(() => harness.stopAll());
afterAll(() => harness.close());

function verifies(secret: string, { payload, headers }: ReceivedDelivery): boolean {
  try {
    new Webhook(secret).verify(payload, { ...headers });
    return true;
  } catch {
    return false;
  }
}

async function newHook(options: Parameters<WebhookHarness['seed']>[2] = {}, at: OrgId = orgId) {
  const receiver = await harness.newReceiver();
  harness.names.set('hooks.example.com', () => PUBLIC_ADDRESS);
  const url = `https://hooks.example.com:${receiver.port}/in`;
  return { receiver, url, webhook: await harness.seed(at, url, options) };
}

describe('a delivery', () => {
  it('contains the event as in the feed and verifies with the Standard Webhooks library', async () => {
    const { receiver, webhook } = await newHook();
    await harness.publish(orgId, ['a']);
    harness.deliverer();
    const [stored] = await harness.settled(webhook.id);
    expect(stored).toMatchObject({ status: 'succeeded', attempts: [{ httpStatus: 204, error: null }] });
    const [got] = receiver.received;
    if (got === undefined) expect.fail('The receiver got no delivery.');
    vi.setSystemTime(harness.clock.now());
    const verified = new Webhook(webhook.secret).verify(got.payload, { ...got.headers });
    vi.useRealTimers();
    expect(verified).toMatchObject({ type: 'key.created', seq: 1, orgId, resource: { id: 'a' } });
    expect(got.headers['webhook-id']).toBe(got.event.id);
    expect((await harness.webhook(orgId, webhook.id))?.lastSucceededAt).toEqual(harness.clock.now());
  });

  describe(failingLoop('reseal webhooks'), () => {
    it.each<Poison>(['throws', 'times out'])('whose write %s leaves other secrets resealed', async (how) => {
      const { webhook: bad } = await newHook();
      await newHook();
      const when = `new.id = '${toUuid(bad.id)}'`;
      const removeFault = await poisonRows(harness.database, { table: 'webhooks', when, how });
      expect(await resealWebhooks(harness.db, harness.nextSealer, testLog())).toBeGreaterThan(0);
      await removeFault();
      expect(await resealWebhooks(harness.db, harness.nextSealer, testLog())).toBe(1);
    });
  });

  it('is signed by both secrets during a rotation, also after they were resealed with another key', async () => {
    const { receiver, webhook } = await newHook();
    const next = mintSecret();
    const until = new Date(harness.clock.nowMs() + 60_000);
    const read = await harness.webhook(orgId, webhook.id);
    if (read === null) expect.fail('The webhook does not exist.');
    await harness.db.transaction({ name: 'rotate', isolation: 'read committed' }, (tx) =>
      updateWebhook(tx, read, {
        secret: {
          sealed: sealSecret(harness.sealer, webhook.id, 'current', next),
          previous: { sealed: sealSecret(harness.sealer, webhook.id, 'previous', webhook.secret), until },
        },
      }),
    );
    expect(await resealWebhooks(harness.db, harness.nextSealer, testLog())).toBeGreaterThan(0);
    expect(await resealWebhooks(harness.db, harness.nextSealer, testLog())).toBe(0);
    harness.deliverer({ sealer: harness.nextSealer });
    const signatures = async (): Promise<readonly boolean[]> => {
      const before = receiver.received.length;
      await harness.publish(orgId, ['a']);
      await harness.settled(webhook.id);
      const got = receiver.received[before];
      if (got === undefined) expect.fail('The receiver got no delivery.');
      vi.setSystemTime(harness.clock.now());
      const results = [next, webhook.secret].map((secret) => verifies(secret, got));
      vi.useRealTimers();
      return results;
    };
    expect(await signatures()).toEqual([true, true]);
    await harness.clock.advance(60_000);
    expect(await signatures()).toEqual([true, false]);
  });

  it('goes only to webhooks with its type and mode', async () => {
    const { receiver, url, webhook } = await newHook({ eventTypes: ['key.revoked'] });
    const test = await harness.seed(orgId, url, { mode: 'test' });
    const all = await harness.seed(orgId, url);
    await harness.publish(orgId, ['a']);
    await harness.publish(orgId, ['b'], { type: 'key.revoked' });
    await harness.publish(orgId, ['c'], { mode: 'test' });
    await harness.publish(await harness.newOrganisation(), ['d']);
    harness.deliverer();
    const numbers = async (hook: typeof all) => (await harness.settled(hook.id)).map(({ seq }) => seq);
    expect([await numbers(webhook), await numbers(test), await numbers(all)]).toEqual([[2], [3], [1, 2]]);
    expect(receiver.received).toHaveLength(4);
  });
});

describe('a receiver that responds with an error', () => {
  it('is retried by the schedule until the delivery fails, and delays only deliveries of the same resource', async () => {
    const { receiver, webhook } = await newHook();
    receiver.respond = ({ event }) => (event.resource.id === 'bad' && event.seq === 1 ? 500 : 200);
    harness.deliverer();
    await harness.publish(orgId, ['bad', 'bad', 'good']);
    const statuses = async () => (await harness.settled(webhook.id)).map(({ status }) => status);
    expect(await statuses()).toEqual(['pending', 'pending', 'succeeded']);
    for (const [attempt, waitMs] of retryWaitsMs.entries()) {
      expect(receiver.received.filter(({ event }) => event.seq === 1)).toHaveLength(attempt + 1);
      await harness.clock.advance(waitMs - 1);
      expect(await statuses()).toEqual(['pending', 'pending', 'succeeded']);
      expect(receiver.received.filter(({ event }) => event.seq === 1)).toHaveLength(attempt + 1);
      await harness.clock.advance(1);
      // The wait starts when the failure is recorded.
      await harness.settled(webhook.id);
    }
    expect(await statuses()).toEqual(['failed', 'succeeded', 'succeeded']);
    const [first] = await harness.deliveries(webhook.id);
    expect(first?.attempts).toHaveLength(8);
    expect(first?.attempts.every(({ error }) => error === 'The receiver returned 500.')).toBe(true);
    const about = receiver.received.filter(({ event }) => event.resource.id === 'bad');
    expect(about.map(({ event }) => event.seq)).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 2]);
  });

  it('is disabled with the reason after five days without a success, and gets no more deliveries', async () => {
    const { receiver, webhook } = await newHook();
    receiver.respond = () => 500;
    harness.deliverer();
    await harness.publish(orgId, ['a']);
    await harness.settled(webhook.id);
    const failingSince = harness.clock.now();
    await harness.clock.advance(5 * 86_400_000 - 1);
    await harness.publish(orgId, ['b', 'c']);
    await harness.settled(webhook.id);
    expect(await harness.webhook(orgId, webhook.id)).toMatchObject({ status: 'enabled', failingSince });
    await harness.clock.advance(5_000);
    await eventually({ what: 'the webhook is disabled' }, async () => {
      const read = await harness.webhook(orgId, webhook.id);
      return read?.status === 'disabled' && read.disabledReason?.includes('five days') === true;
    });
    await harness.settled(webhook.id);
    await cleanUpWebhooks(harness.db, 500);
    const sent = receiver.received.length;
    expect((await harness.deliveries(webhook.id)).map(({ status }) => status)).not.toContain('pending');
    await harness.publish(orgId, ['d']);
    expect(await harness.deliveries(webhook.id)).toHaveLength(3);
    expect(receiver.received).toHaveLength(sent);
    const { rows } = await sql<{ disabled_by: string; audited: boolean; notified: boolean }>`
      select disabled_by,
             exists (select 1 from audit_log where action = 'webhook.disabled' and resource_id = ${webhook.id}) as audited,
             exists (select 1 from notices where type = 'webhook.disabled' and data->>'webhookId' = ${webhook.id}) as notified
        from webhooks where id = ${toUuid(webhook.id)}`.execute(harness.db.kysely);
    expect(rows).toEqual([{ disabled_by: 'failures', audited: true, notified: true }]);
  });

  it('is disabled at once after 410, and has no failures recorded after it recovers', async () => {
    const { receiver, webhook } = await newHook();
    const { receiver: second, webhook: recovering } = await newHook();
    receiver.respond = () => 410;
    second.respond = () => (second.received.length < 2 ? 503 : 200);
    harness.deliverer();
    await harness.publish(orgId, ['a']);
    await harness.settled(webhook.id);
    await harness.settled(recovering.id);
    expect((await harness.webhook(orgId, webhook.id))?.disabledReason).toContain('410 Gone');
    expect((await harness.webhook(orgId, recovering.id))?.failingSince).not.toBeNull();
    await harness.clock.advance(5_000);
    await eventually({ what: 'the webhook works again' }, async () =>
      (await harness.settled(recovering.id)).every(({ status }) => status === 'succeeded'),
    );
    expect((await harness.webhook(orgId, recovering.id))?.failingSince).toBeNull();
  });
});

describe('a failed attempt whose webhook URL changed before the response', () => {
  it.each([410, 503])('with status %i does not count as a failure of the new URL', async (status) => {
    const { receiver: old, webhook } = await newHook();
    const next = await harness.newReceiver();
    const response = Promise.withResolvers<number>();
    const post = harness.post();
    const isOld = (url: string) => url.includes(String(old.port));
    old.respond = () => status;
    harness.deliverer({
      post: async (call) => {
        const result = await post(call);
        if (isOld(call.url)) await response.promise;
        return result;
      },
    });
    await harness.publish(orgId, ['a']);
    await eventually({ what: 'the attempt at the old address' }, () => old.received.length === 1);
    await harness.db.transaction({ name: 'move', isolation: 'read committed' }, (tx) =>
      updateWebhook(tx, { orgId, id: webhook.id }, { url: `https://hooks.example.com:${next.port}/in` }),
    );
    response.resolve(status);
    await eventually({ what: 'the delivery at the new address' }, () => next.received.length === 1);
    const [stored] = await harness.settled(webhook.id);
    expect(stored).toMatchObject({
      status: 'succeeded',
      attempts: [{ httpStatus: status }, { error: null }],
    });
    expect(await harness.webhook(orgId, webhook.id)).toMatchObject({ status: 'enabled', failingSince: null });
    const { failures } = await harness.db.kysely
      .selectFrom('webhook_deliveries')
      .select('failures')
      .where('webhook_id', '=', toUuid(webhook.id))
      .executeTakeFirstOrThrow();
    expect(failures).toBe(0);
  });
});

describe('a slow receiver', () => {
  describe(failingLoop('claim webhooks'), () => {
    it.each<ItemPoison>(['throws', 'hangs'])('that %s does not delay other webhooks', async (how) => {
      const { receiver } = await newHook();
      const neighbour = await harness.newOrganisation();
      const { receiver: quick } = await newHook({}, neighbour);
      receiver.respond = (_delivery, response) => {
        if (how === 'throws') response.destroy();
        return undefined;
      };
      // Longer than the test waits for the other organisation.
      harness.deliverer({ post: harness.post({ timeoutMs: 600_000 }) });
      await harness.publish(orgId, ['a']);
      await eventually({ what: 'the bad receiver is asked' }, () => receiver.received.length > 0);
      await harness.publish(neighbour, ['b', 'c']);
      await eventually({ what: 'the neighbour has its own' }, () => quick.received.length === 2);
    });

    it('does not delay other webhooks or its other resources, and times out at the deadline', async () => {
      const { receiver, webhook } = await newHook();
      const neighbour = await harness.newOrganisation();
      const { receiver: quick } = await newHook({}, neighbour);
      receiver.respond = ({ event }) => (event.resource.id === 'slow' ? undefined : 200);
      // The test ends the time limit of the attempt itself, so that a slow machine does not reach it too early.
      const limits: { readonly ms: number; readonly end: () => void }[] = [];
      const after = (ms: number, end: () => void): (() => void) => {
        limits.push({ ms, end });
        return () => undefined;
      };
      const clock = { ...hybridClock(harness.clock), after };
      harness.deliverer({ post: harness.post({ timeoutMs: 3_000, clock }) });
      await harness.publish(orgId, ['slow', 'slow']);
      await eventually({ what: 'the first delivery hangs' }, () => receiver.received.length === 1);
      await harness.publish(orgId, ['brisk']);
      await harness.publish(neighbour, ['a']);
      await eventually({ what: 'the neighbour has its own' }, () => quick.received.length === 1);
      const attempts = await eventually({ what: 'the brisk one' }, async () => {
        const counts = (await harness.deliveries(webhook.id)).map((delivery) => delivery.attempts.length);
        return counts[2] === 1 && counts;
      });
      expect(attempts).toEqual([0, 0, 1]);
      // The first attempt is the one that hangs.
      const [limit = expect.fail('The attempt has no time limit.')] = limits;
      expect(limit.ms).toBe(3_000);
      limit.end();
      const [late] = await harness.settled(webhook.id);
      expect(late).toMatchObject({
        status: 'pending',
        attempts: [{ httpStatus: null, error: 'The receiver did not respond within 3 seconds.' }],
      });
    });
  });

  it('that failed before uses no slot of healthy webhooks', async () => {
    const { receiver, webhook } = await newHook();
    const neighbour = await harness.newOrganisation();
    const { receiver: quick, webhook: working } = await newHook({}, neighbour);
    receiver.respond = () => (receiver.received.length === 1 ? 500 : undefined);
    harness.deliverer({ tuning: { workingAtOnce: 1, failingAtOnce: 1 } });
    await harness.publish(orgId, ['a']);
    await harness.settled(webhook.id);
    await harness.clock.advance(5_000);
    await eventually({ what: 'the second attempt hangs' }, () => receiver.received.length === 2);
    await harness.publish(neighbour, ['b']);
    expect((await harness.settled(working.id)).map(({ status }) => status)).toEqual(['succeeded']);
    expect([quick.received.length, receiver.received.length]).toEqual([1, 2]);
  });

  it('that sends an endless body has accepted the delivery, and its connection is closed', async () => {
    const { receiver, webhook } = await newHook();
    receiver.respond = (_delivery, response) => {
      response.writeHead(200);
      const chatter = setInterval(() => response.write('x'.repeat(8_192)), 1);
      response.on('close', () => clearInterval(chatter));
      return undefined;
    };
    harness.deliverer({ post: harness.post({ timeoutMs: 60_000 }) });
    await harness.publish(orgId, ['a']);
    const [stored] = await harness.settled(webhook.id);
    expect(stored).toMatchObject({ status: 'succeeded', attempts: [{ httpStatus: 200 }] });
    expect(stored?.attempts[0]?.durationMs).toBeLessThan(30_000);
  });
});

describe('several workers', () => {
  it('deliver each event once, in order for each resource', async () => {
    const { receiver, webhook } = await newHook();
    const { receiver: second, webhook: slower } = await newHook();
    second.respond = async () => {
      await new Promise((resolve) => setTimeout(resolve, 2));
      return 200;
    };
    for (let nth = 0; nth < 3; nth += 1) harness.deliverer({ tuning: { turnMs: 50 } });
    const resources = ['a', 'b', 'c', 'd'];
    for (let round = 0; round < 10; round += 1) await harness.publish(orgId, resources);
    for (const [hook, seen] of [
      [webhook, receiver],
      [slower, second],
    ] as const) {
      const deliveries = await eventually({ what: 'all is sent' }, async () => {
        const all = await harness.deliveries(hook.id);
        return all.length === 40 && all.every(({ status }) => status === 'succeeded') && all;
      });
      expect(deliveries.every(({ attempts }) => attempts.length === 1)).toBe(true);
      expect(seen.received).toHaveLength(40);
      for (const resource of resources) {
        const order = seen.received.filter(({ event }) => event.resource.id === resource);
        const numbers = order.map(({ event }) => event.seq);
        expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
      }
    }
  });

  it('do not record a failure of a webhook that another worker has claimed', async () => {
    const { receiver, webhook } = await newHook();
    let responseFirst = (): void => undefined;
    receiver.respond = async () => {
      if (receiver.received.length > 1) return 200;
      await new Promise<void>((resolve) => (responseFirst = resolve));
      return 500;
    };
    const frozen = harness.deliverer({ tuning: { workingAtOnce: 1 } });
    await harness.publish(orgId, ['a']);
    await eventually({ what: 'the first has sent' }, () => receiver.received.length === 1);
    harness.deliverer();
    // As if the worker had been paused for longer than its lease.
    await sql`update webhook_queues set lease_until = clock_timestamp() - interval '1 second'
               where webhook_id = ${toUuid(webhook.id)}`.execute(harness.db.kysely);
    await eventually({ what: 'another has delivered' }, async () => {
      const [stored] = await harness.deliveries(webhook.id);
      return stored?.status === 'succeeded';
    });
    responseFirst();
    await frozen.stop();
    const [again] = await harness.deliveries(webhook.id);
    expect(again).toMatchObject({ status: 'succeeded', attempts: [{ httpStatus: 200 }] });
    expect(await harness.webhook(orgId, webhook.id)).toMatchObject({ status: 'enabled', failingSince: null });
  });
});
