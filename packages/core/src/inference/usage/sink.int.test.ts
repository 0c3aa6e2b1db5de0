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

describe('the usage sink', () => {
  it('charges usage in the stream and shows it within a second', async () => {
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
    await eventually({ what: 'the stream to be empty' }, isEmpty);
    await sink.stop();
  });

  it('posts one transfer per organisation, key and model of a batch, and each row refers to its transfer', async () => {
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

  it('records when a key was last used, never in the future', async () => {
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

  it('charges a request once, however often its event arrives and in whichever batch', async () => {
    const granted = await harness.grant();
    const [first, second, third] = many(granted, 3) as [UsageEvent, UsageEvent, UsageEvent];
    const stream = 'REDELIVERED';
    await processMessages(harness.db, stream, [message(1, first, second, first)]);
    await processMessages(harness.db, stream, [message(1, first, second, first)]);
    await processMessages(harness.db, stream, [message(1, first), message(2, second, third)]);
    await processMessages(harness.db, 'ANOTHER', [message(1, third, first)]);
    expect(await harness.charged(granted.orgId)).toBe(sum([first, second, third]));
  });

  it('loses nothing if it dies before the commit, and charges nothing twice if it dies after it', async () => {
    const granted = await harness.grant();
    const events = many(granted, 40);
    for (const event of events) await harness.publish([event]);
    let purges = 0;
    // It dies repeatedly between commit and purge, and its successor starts at the watermark.
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
    await eventually({ what: 'the stream to be empty' }, isEmpty);
    await next.stop();
    expect(await harness.charged(granted.orgId)).toBe(sum([...events, more]));
  });

  it('charges everything once with concurrent sinks', async () => {
    const granted = await harness.grant();
    // The claims expire at once, so each sink believes that it alone has the stream.
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

  it('is replaced when it stops renewing its claim, and not before', async () => {
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

describe('a lost usage stream', () => {
  it('that was created again continues its numbers, is read from its start, and loses no new usage', async () => {
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
    // A sink that has not detected the loss may still purge at its old position, where no message exists.
    await lost.nats.purgeMessages(lost.stream, first.length + 100);
    await isRecorded(next);
    expect(await lost.charged(granted.orgId)).toBe(sum([...first, next]));
  });
});

describe('a usage stream that is delivered with a gap', () => {
  it('is read again from the gap, and no message is lost', async () => {
    await using holed = await createUsageHarness();
    const granted = await holed.grant();
    let isDropped = false;
    holed.startSink(
      {},
      {
        // A double of a client that leaves out one message, once.
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
    await eventually({ what: 'all usage to be charged' }, async () => {
      return (await holed.charged(granted.orgId)) === sum(events);
    });
    expect(isDropped).toBe(true);
  });
});

describe('a usage stream that was reset', () => {
  it('as by a restored disk is read again from its start, and all later usage is charged', async () => {
    await using restored = await createUsageHarness();
    const granted = await restored.grant();
    const isRecorded = (event: UsageEvent) =>
      eventually({ what: 'the row' }, () => restored.request(event.requestId));
    const first = restored.startSink();
    const before = restored.event(granted);
    await restored.publish([before]);
    await isRecorded(before);
    await first.stop();
    // The watermark is a hundred messages beyond the end of the stream, as if the stream had lost them.
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
    // The next sink continues from there.
    restored.startSink();
    await restored.publish([events[2]]);
    await isRecorded(events[2] ?? expect.fail('no event'));
    expect(await restored.charged(granted.orgId)).toBe(sum([before, ...events]));
  });
});

describe('usage', () => {
  it('that cannot be read is quarantined, and everything around it is charged', async () => {
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

  it('that the database rejects is quarantined alone', async () => {
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

  it('that the database rejects does not affect other requests of its message', async () => {
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

    it('with implausible amounts costs its organisation and the operator at most what its lease allows', async () => {
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
      // The organisation pays what its lease held, and nothing from its balance; the requests show the same amount.
      const paid = await harness.charged(hostile.orgId);
      expect(paid).toBeLessThanOrEqual(10_000_000n);
      expect(requests.map((request) => request?.cost)).toEqual([String(paid), '0', '0']);
    });
  });

  it('that cannot be written while the database is unreachable is read again later', async () => {
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

  it('that used more than its reservation costs the reservation, and the operator absorbs the rest', async () => {
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

  it('of an unknown or foreign lease is recorded and never charged', async () => {
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
