import { newReadinessKey } from '@millrace/compute/readiness';
import { seedOrganisation } from '@millrace/core/fixture';
import { makeDueInvoices } from '@millrace/core/invoices';
import { systemClock } from '@millrace/platform/clock';
import { nanoUsd } from '@millrace/platform/money';
import { databaseWithClock, eventually, signStripeEvent, testLog } from '@millrace/testing';
import {
  addDeployment,
  addModel,
  createCaller,
  CHAT_PRICES,
  type Operator,
} from '../../stack/inference-tenant.ts';
import { MOCK_REGION } from '../../stack/mock-stack.ts';
import { grantCredit } from '../../stack/tenant.ts';
import type { DrillStack } from './drill-stack.ts';

/** Work of tenants over the public API. */

export interface DrillTenant {
  /** Sends a request and returns its id. */
  chat(): Promise<{ readonly status: number; readonly id: string }>;
  /** Starts a top-up of this many cents and returns the payment's id. */
  topUp(cents: number): Promise<string>;
  order(): Promise<number>;
  rental(id: number): Promise<string>;
}

const MODEL = 'flour';
const INITIAL_BALANCE = nanoUsd(50_000_000_000n);

export async function addTestModel(stack: DrillStack): Promise<void> {
  const { owner } = await seedOrganisation(stack.database.db, { platformRole: 'operator' });
  const call = createCaller(stack.apiUrl, owner.key);
  const operator: Operator = {
    call,
    do: async (method, path, body) => {
      const { status, json } = await call(method, path, body);
      if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${JSON.stringify(json)}`);
      return json;
    },
  };
  await addModel(operator, { name: MODEL, modality: 'chat', prices: CHAT_PRICES, contextLength: 4_096 });
  await addDeployment(operator, { model: MODEL, engine: 'vllm', address: stack.chatAddress });
}

export function seedTenants(stack: DrillStack, count: number): Promise<DrillTenant[]> {
  return Promise.all(Array.from({ length: count }, () => seedTenant(stack)));
}

async function seedTenant(stack: DrillStack): Promise<DrillTenant> {
  const { organisation, owner, ownerKey } = await seedOrganisation(stack.database.db);
  await grantCredit(stack.database.db, organisation.id, INITIAL_BALANCE);
  const call = createCaller(stack.apiUrl, owner.key);
  const made = await call('POST', '/v2/api-keys', {
    name: 'chat',
    scopes: ['inference:read', 'inference:write'],
  });
  const chatKey = String(made.json.key);
  const { key: testKey } = await ownerKey('test');
  const test = createCaller(stack.apiUrl, testKey);
  await test('POST', '/v2/ssh-public-keys', { name: 'laptop', publicKey: newReadinessKey().publicKey });
  return {
    chat: async () => {
      const response = await fetch(`${stack.gatewayUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${chatKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: MODEL,
          max_tokens: 64,
          messages: [{ role: 'user', content: 'Bread?' }],
        }),
      });
      await response.text();
      return { status: response.status, id: response.headers.get('x-inference-request-id') ?? '' };
    },
    topUp: async (amountCents) => {
      const { status, json } = await call('POST', '/v2/customer/top-ups', { amountCents });
      if (status !== 201) throw new Error(`Creating a top-up failed: ${JSON.stringify(json)}`);
      return String(json.paymentId);
    },
    order: async () => {
      const { status, json } = await test('POST', '/v2/on-demand/virtual-machine-rentals', {
        region: MOCK_REGION,
        gpuCount: 1,
      });
      if (status !== 200) throw new Error(`Creating a rental failed: ${JSON.stringify(json)}`);
      return Number(json.id);
    },
    rental: async (id) => String((await test('GET', `/v2/on-demand/rentals/${id}`)).json.status),
  };
}

const required = (tenant: DrillTenant | undefined): DrillTenant => {
  if (tenant === undefined) throw new Error('The drill has no tenant.');
  return tenant;
};

/** Returns the ids of the requests. */
export async function sendChatRequests(tenant: DrillTenant, count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let nth = 0; nth < count; nth += 1) {
    const { id } = await eventually({ what: 'a chat response', timeoutMs: 60_000 }, async () => {
      const response = await tenant.chat();
      return response.status === 200 && response;
    });
    ids.push(id);
  }
  return ids;
}

const FORTY_DAYS_MS = 40 * 86_400_000;

/** Makes the invoices of this month as in the next one, and returns their numbers. */
export async function makeInvoices(stack: DrillStack): Promise<readonly string[]> {
  const db = databaseWithClock(stack.database.db, new Date(systemClock.nowMs() + FORTY_DAYS_MS));
  await eventually({ what: 'an invoice', timeoutMs: 60_000 }, async () => {
    const options = { log: testLog(), limit: 100, issuer: 'Example Cloud' };
    while ((await makeDueInvoices(db, options)) >= options.limit);
    return (await numbersOfInvoices(stack)).length > 0;
  });
  return numbersOfInvoices(stack);
}

async function numbersOfInvoices(stack: DrillStack): Promise<readonly string[]> {
  const rows = await stack.rows<{ number: string }>('select number::text as number from invoices');
  return rows.map(({ number }) => `INV-${number.padStart(8, '0')}`);
}

export async function rentMachine(given: DrillTenant | undefined): Promise<number> {
  const tenant = required(given);
  const id = await eventually({ what: 'a free machine', timeoutMs: 60_000 }, () =>
    tenant.order().catch(() => false as const),
  );
  await eventually(
    { what: 'the rental to run', timeoutMs: 60_000 },
    async () => (await tenant.rental(id)) === 'Running',
  );
  return id;
}

/** Pays by card, delivers Stripe's event, and returns the Checkout Session id. */
export async function payByCard(stack: DrillStack, given: DrillTenant | undefined): Promise<string> {
  const paymentId = await required(given).topUp(2_500);
  const session = stack.stripe.pay(stack.stripe.sessionOf(paymentId).id);
  const { body, headers } = signStripeEvent(stack.stripe.settings.webhookSecret, {
    type: 'checkout.session.completed',
    object: session,
    createdMs: systemClock.nowMs(),
  });
  const response = await fetch(`${stack.apiUrl}/v2/payments/stripe/webhook`, {
    method: 'POST',
    headers,
    body,
  });
  if (response.status >= 300)
    throw new Error(`The Stripe webhook returned ${response.status}: ${await response.text()}`);
  return session.id;
}
