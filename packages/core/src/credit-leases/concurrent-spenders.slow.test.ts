import { epochEndSchema } from '@millrace/credit-leases/protocol';
import { toUuid, type BudgetId, type KeyId, type OrgId } from '@millrace/platform/ids';
import { systemClock } from '@millrace/platform/clock';
import { nanoUsd } from '@millrace/platform/money';
import type { NatsClient } from '@millrace/platform/nats';
import {
  connectTestNats,
  eventually,
  startProcess,
  testEndpoints,
  testIds,
  testLog,
  testNames,
} from '@millrace/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBudget } from '../ledger/index.ts';
import { serveCreditLeases } from './index.ts';
import { createLeaseHarness, limitOf, type LeaseHarness } from './leases.fixture.ts';
import type { SpenderResult, SpenderConfig } from './spender-process.fixture.ts';
import type { UsageItem } from './lender/usage-charges.ts';
import { recordEpochEnd } from './lender/lease-holders.store.ts';
import { postUsage } from './lender/usage-charges.service.ts';
import { advanceUsageWatermark } from './lender/usage-charges.store.ts';

const names = testNames();
const prefix = names.natsPrefix;
const stream = names.natsStream('USAGE');
let harness: LeaseHarness;
let nats: NatsClient;
beforeAll(async () => {
  harness = await createLeaseHarness();
  nats = await connectTestNats();
  await nats.ensureStream({
    ...{ name: stream, subjects: [`${prefix}.usage.>`], replicas: 1, maxAgeMs: 600_000 },
    ...{ maxBytes: 16_777_216, whenFull: 'refuse new', duplicateWindowMs: 60_000 },
  });
});
afterAll(async () => {
  await nats.close();
  await harness[Symbol.asyncDispose]();
});

/** Processes the stream from its beginning until it is disposed. */
async function startSink(): Promise<AsyncDisposable> {
  const follower = await nats.follow({ stream, fromSequence: 1, maxBuffered: 1_000 });
  let goesOn = true;
  async function work(): Promise<void> {
    const messages = await follower.take(100, 50);
    const last = messages.at(-1);
    if (last === undefined) return;
    const isEnd = ({ subject }: { subject: string }): boolean => subject.endsWith('.end');
    await harness.db.transaction({ name: 'sink', isolation: 'read committed' }, async (tx) => {
      const used = messages.filter((message) => !isEnd(message));
      await postUsage(
        tx,
        used.map((message) => readItem(message.json())),
      );
      for (const message of messages.filter(isEnd)) {
        const seq = BigInt(message.sequence);
        await recordEpochEnd(tx, epochEndSchema.parse(message.json()), { stream, seq });
      }
      await advanceUsageWatermark(tx, stream, BigInt(last.sequence));
    });
  }
  const done = (async () => {
    while (goesOn) await work();
  })();
  return {
    [Symbol.asyncDispose]: async () => {
      goesOn = false;
      await done;
      await follower.close();
    },
  };
}

function readItem(value: unknown): UsageItem {
  const item = value as UsageItem;
  return {
    ...item,
    amount: BigInt(item.amount),
    reserved: BigInt(item.reserved),
    priced: BigInt(item.priced),
  };
}

async function budgetOf(orgId: OrgId, keyId: KeyId, limit: bigint): Promise<BudgetId> {
  const { id } = await harness.db.transaction({ name: 'budget', isolation: 'read committed' }, (tx) =>
    createBudget(tx, {
      ...{ orgId, mode: 'live', name: 'small', keyIds: [keyId], period: 'total' },
      ...{ limit: nanoUsd(limit), thresholdsPercent: [], onExceeded: 'stop_new_work' },
    }),
  );
  return id;
}

const amount = 1_000_003n;
const each = 100;
const manyMs = 86_400_000;

it('200 concurrent requests in two processes never overspend by one nano-USD while Valkey is killed and restarted', async () => {
  await using served = new AsyncDisposableStack();
  const lender = serveCreditLeases({
    ...{ db: harness.db, valkey: harness.valkey.client, nats, prefix, cell: 1, clock: systemClock },
    ...{ log: testLog(), outageMs: 60_000, longestRequestMs: 60_000 },
  });
  served.defer(() => lender.stop());
  served.use(await startSink());
  const poor = await harness.organisation(60n * amount + 17n);
  const capped = await harness.organisation(1_000n * amount);
  const limited = await harness.organisation(1_000n * amount);
  const keyId = testIds.next('key');
  const budget = await budgetOf(capped, keyId, 50n * amount + 1n);
  const limit = { ...limitOf('requests', limited, 40), windowMs: manyMs };
  const order: Omit<SpenderConfig, 'gatewayId'> = {
    valkeyUrl: harness.valkey.url,
    natsUrls: testEndpoints().natsUrls,
    ...{ prefix, amount: String(amount), requests: each, retryForMs: 60_000 },
    racers: [
      { name: 'poor', orgId: poor, keyId, budgets: [], limits: [], usesAll: true },
      { name: 'capped', orgId: capped, keyId, budgets: [budget], limits: [], usesAll: true },
      { name: 'limited', orgId: limited, keyId, budgets: [], limits: [limit], usesAll: false },
    ],
  };
  const processes = await Promise.all(
    ['one', 'two'].map((name) =>
      startProcess({
        name,
        entry: 'packages/core/src/credit-leases/spender-process.fixture.ts',
        args: [JSON.stringify({ ...order, gatewayId: `${name}-${names.id}` })],
        env: {},
      }),
    ),
  );
  const lines = (): SpenderResult[] =>
    processes
      .flatMap(({ output }) => output().split('\n'))
      .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as SpenderResult] : []));
  const admittedOf = (name: string): SpenderResult[] =>
    lines().filter((line) => line.name === name && line.outcome === 'admitted');
  await eventually({ what: '30 results', timeoutMs: 60_000 }, async () => lines().length >= 30);
  await harness.valkey.restart();
  const exits = await Promise.all(processes.map(({ exited }) => exited));
  expect(
    exits.map(({ code }) => code),
    processes.map(({ output }) => output()).join('\n'),
  ).toEqual([0, 0]);
  expect(lines()).toHaveLength(2 * each * order.racers.length);

  // Exactly the admitted requests are charged, to the nano-USD.
  const spentBy = (name: string): bigint =>
    admittedOf(name).reduce((sum, { actual = '0' }) => sum + BigInt(actual), 0n);
  await eventually({ what: 'the sink to process everything', timeoutMs: 60_000 }, async () => {
    const state = await nats.streamState(stream);
    const [row] = await harness.query(`select passed_seq::int as passed from usage_watermarks`);
    return row?.['passed'] === state?.lastSequence;
  });
  const balanceOf = async (orgId: OrgId): Promise<bigint> => (await harness.balance(orgId)).balance;
  expect(await balanceOf(poor)).toBe(60n * amount + 17n - spentBy('poor'));
  expect(await balanceOf(capped)).toBe(1_000n * amount - spentBy('capped'));
  expect(await balanceOf(limited)).toBe(1_000n * amount - spentBy('limited'));
  const shortfall = await harness.query(`select * from ledger_entries e
      join ledger_accounts a on a.id = e.account_id where a.kind = 'shortfall'`);
  expect(shortfall).toEqual([]);

  // Each organisation was stopped by its own limit, to within one request.
  const outcomesOf = (name: string) =>
    new Set(lines().flatMap((line) => (line.name === name ? [line.outcome] : [])));
  expect(outcomesOf('poor')).toEqual(new Set(['admitted', 'INSUFFICIENT_BALANCE']));
  // A spender that was refused while another result was unknown does not retry, so some balance can remain.
  expect(await balanceOf(poor)).toBeLessThan(3n * amount);
  expect(outcomesOf('capped')).toEqual(new Set(['admitted', 'BUDGET_EXCEEDED']));
  const [cap] = await harness.query(`select balance_nano_usd::text as rest from ledger_accounts
      where id = '${toUuid(budget)}'`);
  const rest = BigInt(String(cap?.['rest']));
  expect(rest).toBe(50n * amount + 1n - spentBy('capped'));
  expect(rest).toBeGreaterThanOrEqual(0n);
  expect(rest).toBeLessThan(3n * amount);
  expect(outcomesOf('limited')).toEqual(new Set(['admitted', 'RATE_LIMITED']));
  // A restarted Valkey loses its counts; within each run of Valkey the limit applies.
  const byEpoch = Map.groupBy(admittedOf('limited'), ({ epoch }) => epoch);
  expect(new Set(lines().flatMap(({ epoch = [] }) => epoch)).size).toBeGreaterThan(1);
  for (const admitted of byEpoch.values()) expect(admitted.length).toBeLessThanOrEqual(40);
});
