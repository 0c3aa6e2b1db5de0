import { eventually, startStopwatch, startTcpProxy, scaledLimitMs, valkeyAccess } from '@millrace/testing';
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
/** Long, so that calls are counted even on a busy machine. */
const timeoutMs = 10_000;
/** A limit of one day refills by less than one unit during a slow test. */
const dayMs = 86_400_000;

const valkey = await connectValkey({
  ...valkeyAccess(),
  name: 'limiter-test',
  log,
  commandTimeoutMs: timeoutMs,
});
afterAll(() => valkey.close());

function policy(fields: Partial<RatePolicy> = {}): RatePolicy {
  return { name: 'requests', scope: 'organisation', subject: 'it', limit: 3, windowMs: 60_000, ...fields };
}

/** Creates a new budget: tags never repeat, so tests can share one Valkey. */
function freshTag(): string {
  return ids.next('org');
}

test('the limiter script agrees with the reference limiter on every sequence of calls', async () => {
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
      // The time steps are small enough that no key expires during the property.
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

test('consume costs nothing in the other policies if one policy refuses the call', async () => {
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

test('giveBack makes units available again, up to the limit', async () => {
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

test('consume never admits more than the limit to concurrent callers', async () => {
  const limiter = createLimiter({ valkey, log, timeoutMs });
  const request = { tag: freshTag(), policies: [policy({ limit: 10, windowMs: dayMs })] };
  const decisions = await Promise.all(Array.from({ length: 200 }, () => limiter.consume(request)));
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10);
});

test('consume admits a refused caller exactly after retryAfterMs, not a millisecond earlier', async () => {
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

test('consume delays no caller by more than its window after the clock steps back an hour', async () => {
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

test('consume sets keys that expire when the budget is full and share the slot of their tag', async () => {
  const limiter = createLimiter({ valkey, log, timeoutMs });
  const tag = freshTag();
  await limiter.consume({ tag, policies: [policy({ limit: 1 })] });
  const key = `limit:{${tag}}:requests:60000:it`;
  const ttlMs = Number(await valkey.command(['PTTL', key]));
  expect(ttlMs).toBeGreaterThan(0);
  expect(ttlMs).toBeLessThanOrEqual(61_000);
});

test('consume admits calls uncounted without Valkey, logs that once, and resumes counting', async () => {
  await using proxy = await startTcpProxy(valkeyAccess().url);
  const lines: string[] = [];
  const loud = createLogger({
    name: 'test',
    level: 'warn',
    destination: { write: (line) => lines.push(line) },
  });
  const client = await connectValkey({
    ...valkeyAccess(),
    url: proxy.rewrite(valkeyAccess().url),
    name: 'limiter-proxy',
    log,
  });
  const limiter = createLimiter({ valkey: client, log: loud, timeoutMs });
  const request = { tag: freshTag(), policies: [policy()] };
  try {
    // This limiter does not log; the limiter under test would otherwise suppress its next warning.
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
