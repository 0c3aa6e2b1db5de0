import { systemClock } from '@millrace/platform/clock';
import { toUuid } from '@millrace/platform/ids';
import { eventually } from '@millrace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openInferenceStack, type InferenceStack } from '../stack/inference-stack.ts';
import {
  CHAT_PRICES,
  seedInferenceTenant,
  seedOperator,
  deployChatModel,
  type InferenceTenant,
} from '../stack/inference-tenant.ts';

/**
 * Limited balances, budgets and rates over two gateways on one port, with the lease Valkey restarted in between: admitted
 * requests never exceed the allowed amount, to the nano-USD.
 */

const MODEL = 'millrace-tiny';
const AT_ONCE = 200;
const MAX_TOKENS = 8;
/** After Valkey was killed, credit returns only by the product's retries, which take minutes on a slow machine. */
const RESPONSE_MS = 400_000;

let stack: InferenceStack;
beforeAll(async () => {
  stack = await openInferenceStack({ gateways: 2, llamas: [{ parallel: 4 }] });
  await deployChatModel(stack, await seedOperator(stack), MODEL);
  await stack.startGateways();
});
afterAll(() => stack.close());

interface Outcome {
  readonly status: number;
  readonly reason: string | null;
  readonly requestId: string | null;
  readonly needed: bigint;
}

interface ResponseBody {
  readonly id?: string;
  readonly error?: { readonly code: string };
  readonly needed_nano_usd?: string;
}

async function send(key: string): Promise<Outcome> {
  try {
    const response = await fetch(`${stack.gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: MODEL,
        messages: [{ role: 'user', content: 'the mill' }],
        max_tokens: MAX_TOKENS,
      }),
      signal: AbortSignal.timeout(RESPONSE_MS),
    });
    const body = (await response.json()) as ResponseBody;
    const requestId = response.headers.get('x-inference-request-id');
    const needed = BigInt(body.needed_nano_usd ?? 0);
    return { status: response.status, reason: body.error?.code ?? null, requestId, needed };
  } catch (error) {
    return { status: 0, reason: `no response: ${describeError(error)}`, requestId: null, needed: 0n };
  }
}

/** `fetch` reports why it failed only in the cause. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? ` (${String(error.code)})` : '';
  const cause = error.cause === undefined ? '' : `, caused by ${describeError(error.cause)}`;
  return `${error.name}: ${error.message}${code}${cause}`;
}

/**
 * Whether the client should retry: credit is unavailable at the moment, the engine's queue is full, or a slow machine needs too long
 * to open a connection with TLS to the engine.
 */
const isPassing = ({ status, reason }: Outcome): boolean =>
  status === 503 || reason === 'model_overloaded' || reason === 'upstream_timeout';

const summaryOf = ({ status, reason }: Outcome): string => `${status} ${reason ?? ''}`;

function sendUntilAnswered(key: string): Promise<Outcome> {
  return eventually({ what: 'a final response', timeoutMs: RESPONSE_MS }, async () => {
    const outcome = await send(key);
    if (isPassing(outcome)) throw new Error(summaryOf(outcome));
    return outcome;
  });
}

/** Sends all requests concurrently and restarts Valkey when half of them have got a response. */
async function sendAll(key: string, count: number): Promise<readonly Outcome[]> {
  let answered = 0;
  const kills: Promise<void>[] = [];
  const outcomes = await Promise.all(
    Array.from({ length: count }, async () => {
      const outcome = await send(key);
      answered += 1;
      if (answered === Math.trunc(count * 0.5)) kills.push(stack.valkey.restart());
      return outcome;
    }),
  );
  await Promise.all(kills);
  return outcomes;
}

/** Sends one request first, so that credit is granted before the others, also on a slow machine. */
async function sendOneThenAll(key: string, count: number): Promise<readonly Outcome[]> {
  const first = await sendUntilAnswered(key);
  return [first, ...(await sendAll(key, count - 1))];
}

const counted = (outcomes: readonly Outcome[], status: number): number =>
  outcomes.filter((outcome) => outcome.status === status).length;

/** Unexplained outcomes, shown by a failed assertion. */
const unexpected = (outcomes: readonly Outcome[], statuses: readonly number[]): readonly Outcome[] =>
  outcomes.filter((outcome) => !statuses.includes(outcome.status) && !isPassing(outcome));

async function spentOf(tenant: InferenceTenant, since: bigint): Promise<bigint> {
  // Granted credit returns once every gateway has ended the lease.
  const { balance } = await tenant.balance();
  return since - balance;
}

async function chargesOf(tenant: InferenceTenant): Promise<{ readonly sum: bigint; readonly count: number }> {
  const [row] = await stack.rows<{ sum: string; count: number }>(
    `select coalesce(sum(amount_nano_usd), 0)::text as sum, count(*)::int as count
       from usage_charges where outcome = 'charged' and org_id = '${toUuid(tenant.orgId)}'`,
  );
  return { sum: BigInt(row?.sum ?? '0'), count: row?.count ?? 0 };
}

test('200 concurrent requests spend no more than the balance while Valkey is killed', async () => {
  // Enough for a few dozen requests: each reserves its worst case and frees the rest when it ends.
  const worst = BigInt(CHAT_PRICES.prompt_token) * 300n + BigInt(CHAT_PRICES.completion_token * MAX_TOKENS);
  const given = worst * 30n;
  const tenant = await seedInferenceTenant(stack, given);
  const outcomes = await sendOneThenAll(tenant.key, AT_ONCE);
  expect(unexpected(outcomes, [200, 402])).toEqual([]);
  const served = counted(outcomes, 200);
  expect(served).toBeGreaterThan(0);
  await eventually({ what: 'all charges, within the balance and equal to its decrease' }, async () => {
    const { count, sum } = await chargesOf(tenant);
    return count >= served && sum <= given && (await spentOf(tenant, given)) === sum;
  });
  const [short] = await stack.rows<{ count: number }>(
    `select count(*)::int as count from usage_charges where outcome <> 'charged' and org_id = '${toUuid(tenant.orgId)}'`,
  );
  expect(short?.count).toBe(0);
});

test('concurrent requests of a key spend no more than its budget', async () => {
  const tenant = await seedInferenceTenant(stack, 1_000_000_000_000n);
  const budgetUsd = 0.002;
  const { key } = await tenant.newKey({
    scopes: ['inference:write'],
    limits: { budget: { usd: budgetUsd, period: 'day' } },
  });
  await waitUntilKnown(key);
  const outcomes = await sendOneThenAll(key, AT_ONCE);
  expect(unexpected(outcomes, [200, 402])).toEqual([]);
  const served = counted(outcomes, 200);
  expect(served).toBeGreaterThan(0);
  // On a slow machine credit may come so late that no request of the burst exceeds the budget.
  const isRefused = ({ reason }: Outcome): boolean => reason === 'budget_exceeded';
  await eventually({ what: 'a refusal that names the budget', timeoutMs: RESPONSE_MS }, async () => {
    if (outcomes.some(isRefused)) return true;
    const outcome = await send(key);
    if (!isRefused(outcome)) throw new Error(summaryOf(outcome));
    return true;
  });
  const charged = await eventually({ what: 'all charges', timeoutMs: RESPONSE_MS }, async () => {
    const found = await chargesOf(tenant);
    return found.count >= served ? found : undefined;
  });
  expect(charged.sum).toBeLessThanOrEqual(BigInt(Math.round(budgetUsd * 1_000_000_000)));
});

test('sequential requests use a small budget until the remainder does not cover the next one', async () => {
  const tenant = await seedInferenceTenant(stack, 1_000_000_000_000n);
  const budgetUsd = 0.002;
  const { key } = await tenant.newKey({
    scopes: ['inference:write'],
    limits: { budget: { usd: budgetUsd, period: 'day' } },
  });
  await waitUntilKnown(key);
  let last = await sendUntilAnswered(key);
  for (let nth = 0; nth < 2_000 && last.status === 200; nth += 1) last = await sendUntilAnswered(key);
  expect(last).toMatchObject({ status: 402, reason: 'budget_exceeded' });
  // No request succeeds after the first refusal, and the remainder is smaller than one request needs.
  expect((await sendUntilAnswered(key)).status).toBe(402);
  const budget = BigInt(Math.round(budgetUsd * 1_000_000_000));
  await eventually({ what: 'all charges' }, async () => (await chargesOf(tenant)).sum + last.needed > budget);
});

test('a budget created while a lease is open applies from the next request', async () => {
  const tenant = await seedInferenceTenant(stack, 1_000_000_000_000n);
  expect(await sendUntilAnswered(tenant.key)).toMatchObject({ status: 200 });
  const made = await tenant.call('POST', '/v2/customer/budgets', {
    ...{ name: 'nothing', period: 'day', limitNanoUsd: '1', onExceeded: 'stop_new_work' },
  });
  expect(made.status).toBe(201);
  // Until both gateways have ended the old lease, its credit is returning and requests get 503.
  expect((await send(tenant.key)).status).not.toBe(200);
  const before: Outcome[] = [];
  await eventually({ what: 'a refusal that names the budget', timeoutMs: RESPONSE_MS }, async () => {
    const outcome = await send(tenant.key);
    if (outcome.reason === 'budget_exceeded') return true;
    before.push(outcome);
    throw new Error(summaryOf(outcome));
  });
  expect(before.filter(({ status }) => status === 200)).toEqual([]);
});

test('the rate limit of a key counts requests of both gateways', async () => {
  const tenant = await seedInferenceTenant(stack, 1_000_000_000_000n);
  const rpm = 20;
  const { key } = await tenant.newKey({ scopes: ['inference:write'], limits: { rpm } });
  await waitUntilKnown(key);
  const startedMs = systemClock.monotonicMs();
  const outcomes = await Promise.all(Array.from({ length: AT_ONCE }, () => send(key)));
  const refilled = Math.ceil(((systemClock.monotonicMs() - startedMs) * rpm) / 60_000);
  expect(counted(outcomes, 200)).toBeLessThanOrEqual(rpm + refilled);
  expect(
    counted(
      outcomes.filter((outcome) => !isPassing(outcome)),
      429,
    ),
  ).toBeGreaterThan(0);
  expect(unexpected(outcomes, [200, 429])).toEqual([]);
});

/** Waits until gateways know the key. The list of models is free and needs a scope that the key does not have. */
async function waitUntilKnown(key: string): Promise<void> {
  await eventually({ what: 'the gateways to know the key', timeoutMs: 10_000 }, async () => {
    const response = await fetch(`${stack.gatewayUrl}/v1/models`, {
      headers: { authorization: `Bearer ${key}` },
    });
    return response.status === 403 ? true : undefined;
  });
}
