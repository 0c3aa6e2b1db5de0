import { systemClock } from '@millrace/platform/clock';
import { toUuid } from '@millrace/platform/ids';
import { eventually, startStopwatch, testIds, scaledLimitMs, failingLoop } from '@millrace/testing';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { processMessages, type SinkMessage } from './sink.service.ts';
import { createKey, createUsageHarness, type TestLease } from '../usage.fixture.ts';
import type { UsageEvent } from './usage-event.ts';

const harness = await createUsageHarness();
afterEach(() => harness.stopSinks());
afterAll(() => harness[Symbol.asyncDispose]());

const many = (granted: TestLease, count: number, over: Partial<UsageEvent> = {}): UsageEvent[] =>
  Array.from({ length: count }, () =>
    harness.event(granted, { keyId: granted.orgId.replace('org_', 'key_'), ...over }),
  );

const message = (sequence: number, ...events: readonly unknown[]): SinkMessage => ({
  sequence,
  subject: 'usage.1.batch',
  text: () => JSON.stringify({ events }),
});

const recorded = (event: UsageEvent) =>
  eventually({ what: `the row of ${event.requestId}` }, () => harness.request(event.requestId));

const sum = (events: readonly UsageEvent[]): bigint =>
  events.reduce((total, { amountNanoUsd }) => total + BigInt(amountNanoUsd), 0n);

async function isEmpty(): Promise<boolean> {
  const state = await harness.nats.streamState(harness.stream);
  return state !== null && state.firstSequence === state.lastSequence + 1;
}

describe('a sink', () => {
  it('charges what stands in the stream and shows it within a second', async () => {
    const sink = harness.startSink({ gatherMs: 50 });
    const granted = await harness.grant();
    const tookMs: number[] = [];
    for (let nth = 0; nth < 10; nth += 1) {
      const event = harness.event(granted);
      const stopwatch = startStopwatch();
      await harness.publish([event]);
      expect(await recorded(event)).toMatchObject({ cost: '1200', outcome: 'charged', source: 'final' });
      tookMs.push(await stopwatch.elapsedMs());
    }
    expect(Math.max(...tookMs)).toBeLessThan(scaledLimitMs(1_000));
    expect(await harness.charged(granted.orgId)).toBe(12_000n);
    await eventually({ what: 'room in the stream' }, isEmpty);
    await sink.stop();
  });

  it('posts one transfer for each organisation, key and model of a batch, and each row names its own', async () => {
    const granted = await harness.grant();
    const events = [...many(granted, 5), ...many(granted, 5, { model: 'model-two' })];
    await processMessages(harness.db, 'TRANSFERS', [
      message(1, ...events.slice(0, 3)),
      message(2, ...events.slice(3)),
    ]);
    const rows = await Promise.all(events.map(({ requestId }) => harness.request(requestId)));
    expect(new Set(rows.map((row) => row?.transfer_id)).size).toBe(2);
    const transfers = await harness.query<{ usage: unknown }>(
      `select usage from ledger_transfers where kind = 'charge' and org_id = '${toUuid(granted.orgId)}'`,
    );
    const used = { requests: 5, promptTokens: 50, cachedPromptTokens: 20, completionTokens: 35 };
    expect(transfers.map(({ usage }) => usage)).toEqual(
      expect.arrayContaining([
        { ...used, model: 'model-one' },
        { ...used, model: 'model-two' },
      ]),
    );
  });

  it('notes when a key was last used, never in the future', async () => {
    const granted = await harness.grant();
    const keyId = await createKey(harness, granted.orgId);
    const lastUsed = async () => {
      const [row] = await harness.query<{ last_used_at: Date | null }>(
        `select last_used_at from api_keys where id = '${toUuid(keyId)}'`,
      );
      return row?.last_used_at?.getTime() ?? null;
    };
    expect(await lastUsed()).toBeNull();
    const atMs = systemClock.nowMs() - 600_000;
    const events = [0, 1_000, 120_000, 86_400_000].map((laterMs) =>
      harness.event(granted, { keyId, createdAtMs: atMs + laterMs }),
    );
    const seen: (number | null)[] = [];
    for (const event of events) {
      await harness.publish([event]);
      const sink = harness.startSink();
      await recorded(event);
      // Times of use are written after the charges, in separate transactions, at the latest when the sink stops.
      await sink.stop();
      seen.push(await lastUsed());
    }
    expect(seen.slice(0, 3)).toEqual([atMs, atMs + 1_000, atMs + 120_000]);
    expect(seen[3]).toBeGreaterThan(atMs + 120_000);
    expect(seen[3]).toBeLessThanOrEqual(systemClock.nowMs() + 2_000);
  });

  it('charges a request once, however often and in whatever company its event comes', async () => {
    const granted = await harness.grant();
    const [first, second, third] = many(granted, 3) as [UsageEvent, UsageEvent, UsageEvent];
    const stream = 'REDELIVERED';
    await processMessages(harness.db, stream, [message(1, first, second, first)]);
    await processMessages(harness.db, stream, [message(1, first, second, first)]);
    await processMessages(harness.db, stream, [message(1, first), message(2, second, third)]);
    await processMessages(harness.db, 'ANOTHER', [message(1, third, first)]);
    expect(await harness.charged(granted.orgId)).toBe(sum([first, second, third]));
  });

  it('that dies before the book is written leaves everything; after it, nothing is charged again', async () => {
    const granted = await harness.grant();
    const events = many(granted, 40);
    for (const event of events) await harness.publish([event]);
    let purges = 0;
    // It dies between commit and purge, again and again, and its successor begins where the book says.
    const dying = harness.startSink(
      { batch: 7 },
      {
        purgeMessages: async () => {
          purges += 1;
          throw new Error('killed');
        },
      },
    );
    await recorded(events.at(-1) ?? expect.fail('no event'));
    await eventually({ what: 'a purge that failed' }, () => purges > 0);
    await dying.stop();
    expect(await harness.charged(granted.orgId)).toBe(sum(events));
    const next = harness.startSink();
    const more = harness.event(granted);
    await harness.publish([more]);
    await recorded(more);
    await eventually({ what: 'room in the stream' }, isEmpty);
    await next.stop();
    expect(await harness.charged(granted.orgId)).toBe(sum([...events, more]));
  });

  it('and another at the same time charge everything once', async () => {
    const granted = await harness.grant();
    // A lease that is over at once: each believes that it has the stream to itself.
    const sinks = [1, 2, 3].map(() => harness.startSink({ leaseMs: 1, batch: 5 }));
    const events = many(granted, 300);
    for (let at = 0; at < events.length; at += 3) await harness.publish(events.slice(at, at + 3));
    await eventually({ what: 'all rows', timeoutMs: 30_000 }, async () => {
      const [row] = await harness.query<{ count: string }>(
        `select count(*) from inference_requests where org_id = '${toUuid(granted.orgId)}'`,
      );
      return row?.count === String(events.length);
    });
    await Promise.all(sinks.map((sink) => sink.stop()));
    expect(await harness.charged(granted.orgId)).toBe(sum(events));
  });

  it('is replaced when it falls silent, and not while it speaks', async () => {
    const granted = await harness.grant();
    const first = harness.startSink({ leaseMs: 10_000 });
    const event = harness.event(granted);
    await harness.publish([event]);
    await recorded(event);
    const holderOf = async () =>
      (await harness.query<{ holder: string }>(`select holder from usage_sinks`)).map(({ holder }) => holder);
    const held = await holderOf();
    const second = harness.startSink({ leaseMs: 10_000 });
    const next = harness.event(granted);
    await harness.publish([next]);
    await recorded(next);
    expect(await holderOf()).toEqual(held);
    await first.stop();
    const last = harness.event(granted);
    await harness.publish([last]);
    await recorded(last);
    expect(await holderOf()).not.toEqual(held);
    await second.stop();
  });
});

describe('a stream that was lost', () => {
  it('and made again goes on counting, is read from its start, and nothing of it is taken for read', async () => {
    await using lost = await createUsageHarness();
    const granted = await lost.grant();
    lost.startSink();
    const first = Array.from({ length: 20 }, () => lost.event(granted));
    for (const event of first) await lost.publish([event]);
    const isRecorded = (event: UsageEvent) =>
      eventually({ what: 'the row' }, () => lost.request(event.requestId));
    await isRecorded(first.at(-1) ?? expect.fail('no event'));
    await lost.loseStream();
    const next = lost.event(granted);
    expect(await lost.publish([next])).toBeGreaterThan(first.length + 1_000);
    // A sink that has not noticed yet may still make room where it was: nothing is there.
    await lost.nats.purgeMessages(lost.stream, first.length + 100);
    await isRecorded(next);
    expect(await lost.charged(granted.orgId)).toBe(sum([...first, next]));
  });
});

describe('a stream that is handed out with a hole', () => {
  it('is read again from the hole on, and nothing in it is lost', async () => {
    await using holed = await createUsageHarness();
    const granted = await holed.grant();
    let isDropped = false;
    holed.startSink(
      {},
      {
        // A double of a client that leaves one message out, once.
        async follow(spec) {
          const follower = await holed.nats.follow(spec);
          return {
            ...follower,
            async take(limit, waitMs) {
              const taken = await follower.take(limit, waitMs);
              const retained = taken.filter(({ sequence }) => isDropped || sequence !== 3);
              isDropped ||= retained.length < taken.length;
              return retained;
            },
          };
        },
      },
    );
    const events = Array.from({ length: 5 }, () => holed.event(granted));
    for (const event of events) await holed.publish([event]);
    await eventually({ what: 'all to be charged' }, async () => {
      return (await holed.charged(granted.orgId)) === sum(events);
    });
    expect(isDropped).toBe(true);
  });
});

describe('a stream that was set back', () => {
  it('as by a restored disk is read again from its start, and all that came since is charged', async () => {
    await using restored = await createUsageHarness();
    const granted = await restored.grant();
    const isRecorded = (event: UsageEvent) =>
      eventually({ what: 'the row' }, () => restored.request(event.requestId));
    const first = restored.startSink();
    const before = restored.event(granted);
    await restored.publish([before]);
    await isRecorded(before);
    await first.stop();
    // The book knows of a hundred messages more than the stream has: it has lost them, and counts them anew.
    const setBack = (): Promise<unknown> =>
      restored.query(`update usage_watermarks set passed_seq = passed_seq + 100`);
    await setBack();
    const events = Array.from({ length: 3 }, () => restored.event(granted));
    await restored.publish([events[0]]);
    const next = restored.startSink();
    await isRecorded(events[0] ?? expect.fail('no event'));
    await restored.publish([events[1]]);
    await isRecorded(events[1] ?? expect.fail('no event'));
    await next.stop();
    // Whoever follows goes on from there.
    restored.startSink();
    await restored.publish([events[2]]);
    await isRecorded(events[2] ?? expect.fail('no event'));
    expect(await restored.charged(granted.orgId)).toBe(sum([before, ...events]));
  });
});

describe('what a sink cannot read', () => {
  it('is put aside, and everything around it is charged', async () => {
    const granted = await harness.grant();
    const good = many(granted, 2);
    const sink = harness.startSink();
    await harness.publish([good[0], { ...harness.event(granted), amountNanoUsd: 'much' }]);
    await harness.publishText('else', { hello: 'world' });
    await harness.publish([good[1]]);
    await recorded(good[1] ?? expect.fail('no event'));
    await sink.stop();
    expect(await harness.charged(granted.orgId)).toBe(sum(good));
    const quarantined = await harness.query<{ position: number; payload: string }>(
      `select position, payload from usage_unreadable order by seq, position`,
    );
    expect(quarantined).toMatchObject([
      { position: 1, payload: expect.stringContaining('much') },
      { position: 0, payload: '{"hello":"world"}' },
    ]);
  });

  it('or the database refuses, is put aside alone', async () => {
    const granted = await harness.grant();
    const good = many(granted, 3);
    const refused = `
      alter table inference_requests add constraint refused_by_test check (model <> 'refused') not valid`;
    await harness.query(refused);
    try {
      const result = await processMessages(harness.db, 'REFUSED', [
        message(1, good[0]),
        message(2, harness.event(granted, { model: 'refused' })),
        message(3, good[1], good[2]),
      ]);
      expect(result).toMatchObject({ recorded: 3, unreadable: 1, passed: 3n });
    } finally {
      await harness.query('alter table inference_requests drop constraint refused_by_test');
    }
    expect(await harness.charged(granted.orgId)).toBe(sum(good));
  });

  it('or the database refuses, takes nothing else of its message with it', async () => {
    const granted = await harness.grant();
    const good = many(granted, 3);
    await harness.query(`
      alter table inference_requests add constraint refused_by_test check (model <> 'refused') not valid`);
    try {
      const refused = harness.event(granted, { model: 'refused' });
      const unread = { ...harness.event(granted), amountNanoUsd: 'much' };
      const batch = message(1, good[0], unread, refused, good[1]);
      const result = await processMessages(harness.db, 'COMPANY', [batch, message(2, good[2])]);
      expect(result).toMatchObject({ recorded: 3, charged: sum(good), unreadable: 2, passed: 2n });
      expect(
        await harness.query(
          `select position, payload like '%${refused.requestId}%' as is_it from usage_unreadable
            where stream = 'COMPANY' order by position`,
        ),
      ).toEqual([
        { position: 1, is_it: false },
        { position: 2, is_it: true },
      ]);
    } finally {
      await harness.query('alter table inference_requests drop constraint refused_by_test');
    }
    expect(await harness.charged(granted.orgId)).toBe(sum(good));
  });

  describe(failingLoop('work through usage'), () => {
    it('whose amount is larger than the ledger can hold does not stop the usage of others', async () => {
      const [granted, hostile] = [await harness.grant(), await harness.grant()];
      const good = many(granted, 2);
      const priced = String(Number.MAX_SAFE_INTEGER);
      const much = many(hostile, 1_100, { amountNanoUsd: '1', reservedNanoUsd: '1', pricedNanoUsd: priced });
      const result = await processMessages(harness.db, 'MUCH', [
        message(1, good[0]),
        message(2, ...much),
        message(3, good[1]),
      ]);
      expect(result.passed).toBe(3n);
      expect(await harness.charged(granted.orgId)).toBe(sum(good));
    });

    it('with absurd amounts costs its organisation and the operator no more than its lease makes believable', async () => {
      const hostile = await harness.grant();
      const most = String(Number.MAX_SAFE_INTEGER);
      const implausible = {
        model: 'model-dear',
        amountNanoUsd: most,
        reservedNanoUsd: most,
        pricedNanoUsd: most,
      };
      const events = many(hostile, 3, implausible);
      const result = await processMessages(harness.db, 'ABSURD', [message(1, ...events)]);
      expect(result).toMatchObject({ recorded: 3, passed: 1n });
      const dollar = 1_000_000_000n;
      const [row] = await harness.query<{ sum: string }>(
        `select sum(amount_nano_usd + borne_nano_usd)::text as sum from usage_charges
          where org_id = '${toUuid(hostile.orgId)}'`,
      );
      expect(BigInt(row?.sum ?? 0)).toBe(6n * dollar);
      const requests = await Promise.all(events.map(({ requestId }) => harness.request(requestId)));
      expect(requests.map((request) => request?.priced)).toEqual([most, most, most]);
      // The organisation pays what its lease held, and nothing of its balance; the requests show that and no more.
      const paid = await harness.charged(hostile.orgId);
      expect(paid).toBeLessThanOrEqual(10_000_000n);
      expect(requests.map((request) => request?.cost)).toEqual([String(paid), '0', '0']);
    });
  });

  it('because the database is away is read again later', async () => {
    const granted = await harness.grant();
    const event = harness.event(granted);
    const away = { ...harness.db, transaction: () => Promise.reject(new Error('Connection terminated')) };
    await expect(processMessages(away, 'AWAY', [message(1, event)])).rejects.toThrow('terminated');
    expect(await harness.request(event.requestId)).toBeUndefined();
    await processMessages(harness.db, 'AWAY', [message(1, event)]);
    expect(await harness.request(event.requestId)).toMatchObject({ outcome: 'charged' });
  });
});

describe('a request', () => {
  it('in test mode is recorded and free', async () => {
    const granted = await harness.grant();
    const event = harness.event(granted, {
      mode: 'test',
      leaseId: null,
      amountNanoUsd: '0',
      pricedNanoUsd: '0',
    });
    await processMessages(harness.db, 'FREE', [message(1, event, event)]);
    expect(await harness.request(event.requestId)).toMatchObject({ cost: '0', outcome: 'free' });
    expect(await harness.charged(granted.orgId)).toBe(0n);
  });

  it('that used more than it had reserved costs what was reserved, and the operator bears the rest', async () => {
    const granted = await harness.grant();
    const event = harness.event(granted, {
      reservedNanoUsd: '500',
      amountNanoUsd: '500',
      pricedNanoUsd: '720',
    });
    const result = await processMessages(harness.db, 'SHORTFALL', [message(1, event)]);
    expect(result).toMatchObject({ charged: 500n, shortfall: 220n });
    expect(await harness.request(event.requestId)).toMatchObject({ cost: '500', priced: '720' });
    expect(await harness.charged(granted.orgId)).toBe(500n);
  });

  it('of a lease that is unknown, or of another organisation, is recorded and never charged', async () => {
    const [granted, other] = [await harness.grant(), await harness.grant()];
    const outsider = harness.event({ ...granted, leaseId: other.leaseId });
    const lost = harness.event({ ...granted, leaseId: testIds.next('lse') });
    const result = await processMessages(harness.db, 'STRANGERS', [message(1, outsider, lost)]);
    expect(result).toMatchObject({ recorded: 2, uncharged: 2, charged: 0n });
    for (const { requestId } of [outsider, lost]) {
      expect(await harness.request(requestId)).toMatchObject({ cost: '0', outcome: 'unknown_lease' });
    }
    expect([await harness.charged(granted.orgId), await harness.charged(other.orgId)]).toEqual([0n, 0n]);
  });
});
