import { seedOrganisation } from '@millrace/core/fixture';
import { systemClock } from '@millrace/platform/clock';
import type { OrgId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import { eventually, type TestLlama } from '@millrace/testing';
import OpenAI from 'openai';
import type { InferenceStack } from './inference-stack.ts';
import { grantCredit, type ApiResponse } from './tenant.ts';

/** An operator who offers models, and tenants who use them through the official OpenAI client. */

export type Call = (method: string, path: string, body?: object) => Promise<ApiResponse>;

export function createCaller(url: string, key: string): Call {
  return async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    return { status: response.status, json: text === '' ? undefined : JSON.parse(text) };
  };
}

export interface Operator {
  readonly call: Call;
  /** Throws unless the response is a success. */
  do(method: string, path: string, body: object): Promise<ApiResponse['json']>;
}

export async function seedOperator(stack: InferenceStack): Promise<Operator> {
  const { owner } = await seedOrganisation(stack.database.db, { platformRole: 'operator' });
  const call = createCaller(stack.apiUrl, owner.key);
  return {
    call,
    do: async (method, path, body) => {
      const { status, json } = await call(method, path, body);
      if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${JSON.stringify(json)}`);
      return json;
    },
  };
}

/** Price of one unit, in nano-USD. */
export type Prices = Readonly<
  Partial<Record<'prompt_token' | 'cached_prompt_token' | 'completion_token' | 'image' | 'character', number>>
>;

export const CHAT_PRICES = {
  prompt_token: 1_000,
  cached_prompt_token: 100,
  completion_token: 5_000,
} as const satisfies Prices;

const unitOf = { image: 'image', character: 'character' } as const;

export interface ModelOptions {
  readonly name: string;
  readonly modality: 'chat' | 'image' | 'audio';
  readonly prices: Prices;
  readonly contextLength?: number;
  readonly extra?: object;
}

export async function addModel(operator: Operator, options: ModelOptions): Promise<void> {
  const { name, modality, contextLength = null, extra } = options;
  await operator.do('POST', '/v2/admin/models', {
    name,
    modality,
    contextLength,
    maxOutputTokens: contextLength,
    ownedBy: 'millrace',
    ...extra,
  });
  for (const [unit, price] of Object.entries(options.prices)) {
    await operator.do('POST', '/v2/admin/prices', {
      subject: { kind: 'model', model: name, unit },
      unit: unit in unitOf ? unit : 'token',
      priceNanoUsd: String(price),
      validFrom: '2020-01-01T00:00:00.000Z',
      reason: 'to begin with',
    });
  }
}

export interface DeploymentOptions {
  readonly model: string;
  readonly engine: string;
  readonly address: string;
  readonly apiKey?: string;
  readonly upstreamModel?: string;
  readonly maxConcurrency?: number;
}

export async function addDeployment(operator: Operator, options: DeploymentOptions): Promise<string> {
  const made = (await operator.do('POST', '/v2/admin/deployments', { region: 'eu-west-1', ...options })) as {
    id: string;
  };
  return made.id;
}

/** Deploys the tiny chat model on every llama-server of the stack and returns the deployment ids in that order. */
export async function deployChatModel(
  stack: InferenceStack,
  operator: Operator,
  name = 'millrace-tiny',
): Promise<string[]> {
  const [first] = stack.llamas;
  if (first === undefined) throw new Error('The stack has no llama-server.');
  const { contextLength } = first;
  await addModel(operator, { name, modality: 'chat', prices: CHAT_PRICES, contextLength });
  const deployments: string[] = [];
  for (const llama of stack.llamas)
    deployments.push(await addDeployment(operator, deploymentOptionsFor(llama, name)));
  return deployments;
}

export function deploymentOptionsFor(llama: TestLlama, model: string): DeploymentOptions {
  const { url: address, apiKey, model: upstreamModel } = llama;
  return { model, engine: 'llama.cpp', address, apiKey, upstreamModel };
}

export interface InferenceTenant {
  readonly orgId: OrgId;
  readonly key: string;
  readonly keyId: string;
  readonly call: Call;
  /** The unmodified OpenAI client; its `fetch` retries only 503, for up to a minute. */
  readonly openai: OpenAI;
  newKey(request: object): Promise<{ readonly id: string; readonly key: string; readonly openai: OpenAI }>;
  balance(): Promise<{ readonly balance: bigint; readonly held: bigint }>;
  /** Waits for the charge of a request, longer than the promised delay. */
  costOf(requestId: string): Promise<number>;
}

export async function seedInferenceTenant(
  stack: InferenceStack,
  balanceNanoUsd: bigint,
): Promise<InferenceTenant> {
  const { organisation, owner } = await seedOrganisation(stack.database.db);
  if (balanceNanoUsd > 0n) await grantCredit(stack.database.db, organisation.id, nanoUsd(balanceNanoUsd));
  const call = createCaller(stack.apiUrl, owner.key);
  const newKey: InferenceTenant['newKey'] = async (request) => {
    const made = await call('POST', '/v2/api-keys', { name: 'one more', ...request });
    if (made.status !== 201) throw new Error(`Creating a key failed: ${JSON.stringify(made.json)}`);
    const { id, key } = made.json as { id: string; key: string };
    return { id, key, openai: openAiClient(stack, key) };
  };
  // The api returns a new key only when gateways know it; the seeded owner key was inserted directly into the database.
  const { id: keyId, key, openai } = await newKey({ scopes: ['inference:read', 'inference:write'] });
  return {
    orgId: organisation.id,
    key,
    keyId,
    call,
    openai,
    newKey,
    balance: async () => {
      const { json } = await call('GET', '/v2/customer/balance');
      return { balance: BigInt(json.balanceNanoUsd), held: BigInt(json.heldNanoUsd) };
    },
    costOf: (requestId) =>
      eventually({ what: `the cost of ${requestId}`, timeoutMs: 10_000 }, async () => {
        const { json } = await call('POST', '/v2/usage/request-cost', { requestIds: [requestId] });
        return json.requests[0]?.costNanoUsd as number | undefined;
      }),
  };
}

const RETRY_FOR_MS = 60_000;

/** Retries 503: on a slow machine the first credit grant can take a while. */
const fetchWithRetries: typeof fetch = async (input, init) => {
  const untilMs = systemClock.monotonicMs() + RETRY_FOR_MS;
  for (;;) {
    const response = await fetch(input, init);
    if (response.status !== 503 || systemClock.monotonicMs() >= untilMs) return response;
    await response.body?.cancel();
    await systemClock.sleep(200);
  }
};

export function openAiClient(stack: InferenceStack, apiKey: string): OpenAI {
  const baseURL = `${stack.gatewayUrl}/v1`;
  return new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 120_000, fetch: fetchWithRetries });
}
