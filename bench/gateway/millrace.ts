import { createClient } from '@redis/client';
import {
  openInferenceStack,
  type InferenceStack,
  type InferenceStackOptions,
} from '../../tests/stack/inference-stack.ts';
import {
  addDeployment,
  addModel,
  seedInferenceTenant,
  seedOperator,
} from '../../tests/stack/inference-tenant.ts';
import { MODEL, type Gateway, type StartedGateway } from './gateways.ts';

const PRICES = { prompt_token: 1_000, cached_prompt_token: 100, completion_token: 5_000 };
const BALANCE_NANO_USD = 1_000_000_000_000_000n;

export interface StartedMillrace extends StartedGateway {
  readonly stack: InferenceStack;
  /** Scripts that the Valkey of the credit leases has run so far. */
  scriptCalls(): Promise<number>;
}

async function scriptCallsOf(url: string): Promise<number> {
  const client = createClient({ url });
  await client.connect();
  const stats = await client.info('commandstats');
  client.destroy();
  return [...stats.matchAll(/^cmdstat_evalsha:calls=(\d+)/gm)].reduce(
    (sum, [, calls]) => sum + Number(calls),
    0,
  );
}

/** The product with all checks. The upstream is configured as vLLM, which counts in every chunk: the most expensive dialect. */
export async function startMillrace(
  upstream: Gateway,
  engines: InferenceStackOptions['engines'] = 'shared',
  env: Readonly<Record<string, string>> = {},
): Promise<StartedMillrace> {
  const stack = await openInferenceStack({ engines, llamas: [], gatewayEnv: env });
  try {
    const operator = await seedOperator(stack);
    const extra = { requestsPerMinute: 1_000_000 };
    await addModel(operator, { name: MODEL, modality: 'chat', prices: PRICES, contextLength: 8_192, extra });
    await addDeployment(operator, { model: MODEL, engine: 'vllm', address: upstream.url });
    const tenant = await seedInferenceTenant(stack, BALANCE_NANO_USD);
    const { key } = await tenant.newKey({
      scopes: ['inference:read', 'inference:write'],
      limits: { rpm: 1_000_000, tpm: 1_000_000_000, budget: { usd: 100_000, period: 'day' } },
    });
    await stack.startGateways();
    const pid = stack.gateways[0]?.pid() ?? null;
    if (pid === null) throw new Error('The gateway has no process.');
    return {
      name: 'Millrace',
      stack,
      pid,
      url: stack.gatewayUrl,
      headers: { authorization: `Bearer ${key}` },
      model: MODEL,
      output: () => stack.output(),
      scriptCalls: () => scriptCallsOf(stack.valkey.url),
      [Symbol.asyncDispose]: () => stack.close(),
    };
  } catch (error) {
    await stack.close();
    throw error;
  }
}
