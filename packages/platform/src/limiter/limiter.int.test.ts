import { readEndpoints } from '@millrace/services';
import { eventually, startStopwatch, startTcpProxy, scaledLimitMs } from '@millrace/testing';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { systemClock } from '../clock/index.ts';
import { createIdSource } from '../ids/index.ts';
import { createLogger } from '../log/index.ts';
import { connectValkey } from '../valkey/index.ts';
import { createLimiter } from './limiter.ts';
import { createReferenceLimiter } from './reference-limiter.ts';
import type { RefundingLimiter, RatePolicy } from './types.ts';

const log = createLogger({ name: 'test', level: 'silent' });
const ids = createIdSource({ clock: systemClock, cell: 1 });
/** Long, so that calls are counted on a busy machine too. */
const timeoutMs = 10_000;
/** Nothing of a limit of one day comes back while a slow test runs. */
const dayMs = 86_400_000;

const valkey = await connectValkey({
  url: readEndpoints().valkeyUrl,
  name: 'limiter-test',
  log,
  commandTimeoutMs: timeoutMs,
});
afterAll(() => valkey.close());

function policy(fields: Partial<RatePolicy> = {}): RatePolicy {
  return { name: 'requests', scope: 'organisation', subject: 'it', limit: 3, windowMs: 60_000, ...fields };
}

/** A fresh budget each time: subjects never repeat, so tests share one Valkey. */
function freshTag(): string {
  return ids.next('org');
}

test('the script and the plain model agree on every sequence of calls', async () => {
  const policyArb = fc.record({
    name: fc.constantFrom('requests', 'tokens', 'daily'),
    subject: fc.constantFrom('a', 'b'),
    limit: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 11_000_000 })),
    windowMs: fc.constantFrom(1_000, 60_000, 86_400_000),
    cost: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 2_000_000 })),
  });
  const callArb = fc.record({
    stepMs: fc.oneof(fc.integer({ min: -50, max: 50 }), fc.integer({ min: 0, max: 120_000 })),
    act: fc.constantFrom('consume', 'peek', 'giveBack'),
    policies: fc.uniqueArray(policyArb, {
      minLength: 1,
      maxLength: 3,
      selector: (p) => `${p.name} ${p.subject} ${p.windowMs}`,
    }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(callArb, { minLength: 1, maxLength: 25 }), async (calls) => {
      const tag = freshTag();
      // Far enough from the real time that nothing expires while the property runs.
      let nowMs = Date.now();
      const real = createLimiter({ valkey, log, timeoutMs, nowMs: () => nowMs });
      const model = createReferenceLimiter({ nowMs: () => nowMs });
      for (const call of calls) {
        nowMs += call.stepMs;
        const request = { tag, policies: call.policies.map((fields) => policy(fields)) };
        const applyTo = (limiter: RefundingLimiter) => limiter[call.act](request);
        expect(await applyTo(real)).toEqual(await applyTo(model));
      }
    }),
    { numRuns: 150 },
  );
});

test('a call refused by one policy costs nothing in the others', async () => {
  const limiter = createLimiter({ valkey, log, timeoutMs });
  const tag = freshTag();
  const wide = policy({ name: 'wide', limit: 100, windowMs: dayMs });
  const narrow = policy({ name: 'narrow', limit: 1, windowMs: dayMs });
  await limiter.consume({ tag, policies: [wide, narrow] });
  for (let i = 0; i < 5; i += 1) {
    const refused = await limiter.consume({ tag, policies: [wide, narrow] });
    expect(refused.refusedBy?.policy.name).toBe('narrow');
  }
  const { policies } = await limiter.peek({ tag, policies: [wide] });
  expect(policies[0]?.remaining).toBe(99);
});

test('what is given back can be used again, and never makes more of a budget than it is', async () => {
  const limiter = createLimiter({ valkey, log, timeoutMs });
  const tag = freshTag();
  const limit = { name: 'tokens', limit: 100, windowMs: dayMs };
  const tokens = (cost: number) => ({ tag, policies: [policy({ ...limit, cost })] });
  await limiter.consume(tokens(90));
  expect((await limiter.consume(tokens(50))).allowed).toBe(false);
  await limiter.giveBack(tokens(60));
  expect((await limiter.consume(tokens(50))).allowed).toBe(true);
  await limiter.giveBack(tokens(1_000));
  expect((await limiter.peek(tokens(0))).policies[0]?.remaining).toBe(100);
});

test('concurrent callers never pass more than the limit', async () => {
  const limiter = createLimiter({ valkey, log, timeoutMs });
  const request = { tag: freshTag(), policies: [policy({ limit: 10, windowMs: dayMs })] };
  const decisions = await Promise.all(Array.from({ length: 200 }, () => limiter.consume(request)));
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10);
});

test('a refused caller that waits as long as it was told passes, and a millisecond earlier does not', async () => {
  let nowMs = Date.now();
  const limiter = createLimiter({ valkey, log, timeoutMs, nowMs: () => nowMs });
  const request = { tag: freshTag(), policies: [policy({ limit: 7, cost: 5 })] };
  await limiter.consume(request);
  const refused = await limiter.consume(request);
  const waitMs = refused.refusedBy?.retryAfterMs ?? 0;
  expect(waitMs).toBeGreaterThan(0);
  nowMs += waitMs - 1;
  expect((await limiter.consume(request)).allowed).toBe(false);
  nowMs += 1;
  expect((await limiter.consume(request)).allowed).toBe(true);
});

test('a clock that steps back an hour delays no caller by more than its limit does', async () => {
  let nowMs = Date.now();
  const limiter = createLimiter({ valkey, log, timeoutMs, nowMs: () => nowMs });
  const request = { tag: freshTag(), policies: [policy({ limit: 60, cost: 60 })] };
  expect((await limiter.consume(request)).allowed).toBe(true);
  nowMs -= 3_600_000;
  const refused = await limiter.consume(request);
  expect(refused).toMatchObject({ allowed: false, refusedBy: { retryAfterMs: 60_000 } });
  nowMs += 59_999;
  expect((await limiter.peek(request)).allowed).toBe(false);
  nowMs += 1;
  expect((await limiter.consume(request)).allowed).toBe(true);
});

test('keys vanish by themselves once the budget is whole, and share the slot of their tag', async () => {
  const limiter = createLimiter({ valkey, log, timeoutMs });
  const tag = freshTag();
  await limiter.consume({ tag, policies: [policy({ limit: 1 })] });
  const key = `limit:{${tag}}:requests:60000:it`;
  const ttlMs = Number(await valkey.command(['PTTL', key]));
  expect(ttlMs).toBeGreaterThan(0);
  expect(ttlMs).toBeLessThanOrEqual(61_000);
});

test('with Valkey gone calls pass uncounted and quickly, it is said once, and counting resumes by itself', async () => {
  const { valkeyUrl } = readEndpoints();
  await using proxy = await startTcpProxy(valkeyUrl);
  const lines: string[] = [];
  const loud = createLogger({
    name: 'test',
    level: 'warn',
    destination: { write: (line) => lines.push(line) },
  });
  const client = await connectValkey({ url: proxy.rewrite(valkeyUrl), name: 'limiter-proxy', log });
  const limiter = createLimiter({ valkey: client, log: loud, timeoutMs });
  const request = { tag: freshTag(), policies: [policy()] };
  try {
    // By a limiter that logs nothing: the other one logs a failure only once in a while.
    const silent = createLimiter({ valkey: client, log, timeoutMs });
    await eventually({ what: 'a counted call' }, async () => !(await silent.consume(request)).degraded);
    proxy.cut();
    const stopwatch = startStopwatch();
    for (let i = 0; i < 10; i += 1) {
      const decision = await limiter.consume(request);
      expect([decision.allowed, decision.degraded]).toEqual([true, true]);
    }
    expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(5_000));
    expect(lines.filter((line) => line.includes('not counted'))).toHaveLength(1);
    proxy.heal();
    await eventually({ what: 'counting to resume' }, async () => !(await limiter.consume(request)).degraded);
  } finally {
    await client.close();
  }
});
