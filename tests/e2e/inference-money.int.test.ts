import { systemClock } from '@millrace/platform/clock';
import { toUuid } from '@millrace/platform/ids';
import { eventually } from '@millrace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openInferenceStack, type InferenceStack } from '../stack/inference-stack.ts';
import {
  CHAT_PRICES,
  seedInferenceTenant,
  seedOperator,
  sellChat,
  type InferenceTenant,
} from '../stack/inference-tenant.ts';

/**
 * Money and limits that allow only some of what is asked for, over two gateways on one port, with the Valkey of the pots
 * killed and begun anew in between: what is admitted never comes to more than is allowed, to the nano-USD.
 */

const MODEL = 'millrace-tiny';
const AT_ONCE = 200;
const MAX_TOKENS = 8;

let stack: InferenceStack;
beforeAll(async () => {
  stack = await openInferenceStack({ gateways: 2, llamas: [{ parallel: 4 }] });
  await sellChat(stack, await seedOperator(stack), MODEL);
  await stack.startGateways();
}, 120_000);
afterAll(() => stack.close());

interface Outcome {
  readonly status: number;
  readonly reason: string | null;
  readonly requestId: string | null;
}

async function ask(key: string): Promise<Outcome> {
  try {
    const answer = await fetch(`${stack.gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: MODEL,
        messages: [{ role: 'user', content: 'the mill' }],
        max_tokens: MAX_TOKENS,
      }),
      signal: AbortSignal.timeout(60_000),
    });
    const body = (await answer.json()) as { id?: string; error?: { code: string } };
    const requestId = answer.headers.get('x-inference-request-id');
    return { status: answer.status, reason: body.error?.code ?? null, requestId };
  } catch {
    return { status: 0, reason: 'no answer', requestId: null };
  }
}

/** All at once, and the Valkey dies when about half of them have been answered. */
async function askAll(key: string, count: number): Promise<readonly Outcome[]> {
  let answered = 0;
  const kills: Promise<void>[] = [];
  const outcomes = await Promise.all(
    Array.from({ length: count }, async () => {
      const outcome = await ask(key);
      answered += 1;
      if (answered === Math.trunc(count * 0.5)) kills.push(stack.valkey.restart());
      return outcome;
    }),
  );
  await Promise.all(kills);
  return outcomes;
}

const counted = (outcomes: readonly Outcome[], status: number): number =>
  outcomes.filter((outcome) => outcome.status === status).length;

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
  const outcomes = await askAll(tenant.key, AT_ONCE);
  const served = counted(outcomes, 200);
  expect(served).toBeGreaterThan(0);
  expect(served + counted(outcomes, 402) + counted(outcomes, 503)).toBe(AT_ONCE);
  const charged = await eventually({ what: 'all charges', timeoutMs: 20_000 }, async () => {
    const found = await chargesOf(tenant);
    return found.count >= served ? found : undefined;
  });
  expect(charged.sum).toBeLessThanOrEqual(given);
  expect(await spentOf(tenant, given)).toBe(charged.sum);
  const [short] = await stack.rows<{ count: number }>(
    `select count(*)::int as count from usage_charges where outcome <> 'charged' and org_id = '${toUuid(tenant.orgId)}'`,
  );
  expect(short?.count).toBe(0);
}, 180_000);

test('a key spends no more than its budget', async () => {
  const tenant = await seedInferenceTenant(stack, 1_000_000_000_000n);
  const budgetUsd = 0.002;
  const { key } = await tenant.newKey({
    scopes: ['inference:write'],
    limits: { budget: { usd: budgetUsd, period: 'day' } },
  });
  await waitUntilKnown(key);
  const outcomes = await askAll(key, AT_ONCE);
  const served = counted(outcomes, 200);
  expect(served).toBeGreaterThan(0);
  expect(outcomes.some(({ reason }) => reason === 'budget_exceeded')).toBe(true);
  const charged = await eventually({ what: 'all charges', timeoutMs: 20_000 }, async () => {
    const found = await chargesOf(tenant);
    return found.count >= served ? found : undefined;
  });
  expect(charged.sum).toBeLessThanOrEqual(BigInt(Math.round(budgetUsd * 1_000_000_000)));
}, 180_000);

test('a budget that is set while money is lent counts from the next request on', async () => {
  const tenant = await seedInferenceTenant(stack, 1_000_000_000_000n);
  await eventually(
    { what: 'a first answer', timeoutMs: 10_000 },
    async () => (await ask(tenant.key)).status === 200,
  );
  const made = await tenant.call('POST', '/v2/customer/budgets', {
    ...{ name: 'nothing', period: 'day', limitNanoUsd: '1', onExceeded: 'stop_new_work' },
  });
  expect(made.status).toBe(201);
  // Until both gateways have ended the old lease, its money is on its way back and a request is told to come again.
  expect((await ask(tenant.key)).status).not.toBe(200);
  await eventually({ what: 'the budget is named', timeoutMs: 20_000 }, async () => {
    const { status, reason } = await ask(tenant.key);
    expect(status).not.toBe(200);
    return reason === 'budget_exceeded';
  });
}, 60_000);

test('a key makes no more requests than its limit, counted over both gateways', async () => {
  const tenant = await seedInferenceTenant(stack, 1_000_000_000_000n);
  const rpm = 20;
  const { key } = await tenant.newKey({ scopes: ['inference:write'], limits: { rpm } });
  await waitUntilKnown(key);
  const beganMs = systemClock.monotonicMs();
  const outcomes = await Promise.all(Array.from({ length: AT_ONCE }, () => ask(key)));
  const refilled = Math.ceil(((systemClock.monotonicMs() - beganMs) * rpm) / 60_000);
  expect(counted(outcomes, 200)).toBeLessThanOrEqual(rpm + refilled);
  expect(counted(outcomes, 429)).toBeGreaterThanOrEqual(AT_ONCE - rpm - refilled);
}, 120_000);

/** A new key is in the book within a second; the list of models costs nothing and needs another scope. */
async function waitUntilKnown(key: string): Promise<void> {
  await eventually({ what: 'the gateways to know the key', timeoutMs: 10_000 }, async () => {
    const answer = await fetch(`${stack.gatewayUrl}/v1/models`, {
      headers: { authorization: `Bearer ${key}` },
    });
    return answer.status === 403 ? true : undefined;
  });
}
