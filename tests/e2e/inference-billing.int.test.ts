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
 * Money and limits that allow only some of what is asked for, over two gateways on one port, with the Valkey of the pots
 * killed and begun anew in between: what is admitted never comes to more than is allowed, to the nano-USD.
 */

const MODEL = 'millrace-tiny';
const AT_ONCE = 200;
const MAX_TOKENS = 8;
/** After Valkey was killed, money comes back by retries of the product, which take minutes on a slow machine. */
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
    return { status: 0, reason: `no answer: ${describeError(error)}`, requestId: null, needed: 0n };
  }
}

/** Describes an error with its causes, since `fetch` says only in the cause why it failed. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? ` (${String(error.code)})` : '';
  const cause = error.cause === undefined ? '' : `, caused by ${describeError(error.cause)}`;
  return `${error.name}: ${error.message}${code}${cause}`;
}

/** Whether the client should repeat its request: no money is available now, or too many requests wait for the engine. */
const isPassing = ({ status, reason }: Outcome): boolean => status === 503 || reason === 'model_overloaded';

const summaryOf = ({ status, reason }: Outcome): string => `${status} ${reason ?? ''}`;

function sendUntilAnswered(key: string): Promise<Outcome> {
  return eventually({ what: 'an answer that is not to be repeated', timeoutMs: RESPONSE_MS }, async () => {
    const outcome = await send(key);
    if (isPassing(outcome)) throw new Error(summaryOf(outcome));
    return outcome;
  });
}

/** All at once, and the Valkey dies when about half of them have been answered. */
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

/** One until it is answered, so that credit is lent before the others come, on a slow machine too. */
async function sendOneThenAll(key: string, count: number): Promise<readonly Outcome[]> {
  const first = await sendUntilAnswered(key);
  return [first, ...(await sendAll(key, count - 1))];
}

const counted = (outcomes: readonly Outcome[], status: number): number =>
  outcomes.filter((outcome) => outcome.status === status).length;

/** Outcomes that nothing explains. A failed assertion shows them. */
const unexpected = (outcomes: readonly Outcome[], statuses: readonly number[]): readonly Outcome[] =>
  outcomes.filter((outcome) => !statuses.includes(outcome.status) && !isPassing(outcome));

async function spentOf(tenant: InferenceTenant, since: bigint): Promise<bigint> {
  // What was lent comes back once every gateway has ended the lease.
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

test('two hundred requests at once spend no more than the balance, though Valkey dies among them', async () => {
  // Enough for a few dozen: the worst case of each is set aside first, and given back when it has ended.
  const worst = BigInt(CHAT_PRICES.prompt_token) * 300n + BigInt(CHAT_PRICES.completion_token * MAX_TOKENS);
  const given = worst * 30n;
  const tenant = await seedInferenceTenant(stack, given);
  const outcomes = await sendOneThenAll(tenant.key, AT_ONCE);
  expect(unexpected(outcomes, [200, 402])).toEqual([]);
  const served = counted(outcomes, 200);
  expect(served).toBeGreaterThan(0);
  await eventually({ what: 'all charges, within the balance and equal to what it lost' }, async () => {
    const { count, sum } = await chargesOf(tenant);
    return count >= served && sum <= given && (await spentOf(tenant, given)) === sum;
  });
  const [short] = await stack.rows<{ count: number }>(
    `select count(*)::int as count from usage_charges where outcome <> 'charged' and org_id = '${toUuid(tenant.orgId)}'`,
  );
  expect(short?.count).toBe(0);
});

test('a key spends no more than its budget', async () => {
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
  // On a slow machine the credit may come so late that no request of the burst finds the budget used up.
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

test('one request after the other uses a small budget until the rest does not cover the next', async () => {
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
  // No request after the first refusal is let through, and the rest is smaller than what one needs.
  expect((await sendUntilAnswered(key)).status).toBe(402);
  const budget = BigInt(Math.round(budgetUsd * 1_000_000_000));
  await eventually({ what: 'all charges' }, async () => (await chargesOf(tenant)).sum + last.needed > budget);
});

test('a budget that is set while money is lent counts from the next request on', async () => {
  const tenant = await seedInferenceTenant(stack, 1_000_000_000_000n);
  expect(await sendUntilAnswered(tenant.key)).toMatchObject({ status: 200 });
  const made = await tenant.call('POST', '/v2/customer/budgets', {
    ...{ name: 'nothing', period: 'day', limitNanoUsd: '1', onExceeded: 'stop_new_work' },
  });
  expect(made.status).toBe(201);
  // Until both gateways have ended the old lease, its money is on its way back and a request is told to come again.
  expect((await send(tenant.key)).status).not.toBe(200);
  const before: Outcome[] = [];
  await eventually({ what: 'the budget is named', timeoutMs: RESPONSE_MS }, async () => {
    const outcome = await send(tenant.key);
    if (outcome.reason === 'budget_exceeded') return true;
    before.push(outcome);
    throw new Error(summaryOf(outcome));
  });
  expect(before.filter(({ status }) => status === 200)).toEqual([]);
});

test('a key makes no more requests than its limit, counted over both gateways', async () => {
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

/** A new key is in the book within a second; the list of models costs nothing and needs another scope. */
async function waitUntilKnown(key: string): Promise<void> {
  await eventually({ what: 'the gateways to know the key', timeoutMs: 10_000 }, async () => {
    const response = await fetch(`${stack.gatewayUrl}/v1/models`, {
      headers: { authorization: `Bearer ${key}` },
    });
    return response.status === 403 ? true : undefined;
  });
}
