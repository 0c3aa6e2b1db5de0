import { defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { startLlama, type LlamaSettings, type TestLlama } from '@millrace/testing';
import OpenAI from 'openai';
import { openInferenceStack, type InferenceStack } from '../stack/inference-stack.ts';
import {
  seedInferenceTenant,
  seedOperator,
  deployChatModel,
  type InferenceTenant,
} from '../stack/inference-tenant.ts';
import {
  instructionsOf,
  run,
  type Messages,
  type Outcome,
  type Prompt,
  type Workload,
} from './affinity/workload.ts';
import { StallWatch } from './stalls.ts';

/** One more than the slots of an engine: one engine cannot cache all tenants, two can. Odd, see `roundRobin`. */
const TENANTS = 7;
const engine: LlamaSettings = { parallel: TENANTS - 1, cacheRamMib: 0 };
const GATEWAYS = 2;
const MIN_CACHED_SHARE_WITH_AFFINITY = 0.8;
const MAX_CACHED_SHARE_ROUND_ROBIN = 0.1;
const BALANCE_NANO_USD = 100_000_000_000n;

export const proof = defineProof({
  name: 'affinity',
  proves:
    'Two gateways route tenants with long instructions so that at least 80 % of their prompt tokens come from the caches of two llama-servers. With round-robin routing the same requests find less than 10 % in the caches.',
  short: (each) => prove(each, { rounds: 12, characters: 1_800 }),
  long: (each) => prove(each, { rounds: 40, characters: 5_000 }),
});

async function prove(each: ProofRun, size: Pick<Workload, 'rounds' | 'characters'>): Promise<ProofReport> {
  const workload: Workload = { tenants: TENANTS, random: each.random, ...size };
  each.note('round robin');
  const inTurn = await roundRobin(workload, instructionsOf(workload));
  const stack = await openInferenceStack({
    gateways: GATEWAYS,
    llamas: [engine, engine],
    env: { MILLRACE_LLAMA_SLOT_CACHE: 'true' },
  });
  try {
    const operator = await seedOperator(stack);
    const model = stack.llamas[0]?.model ?? '';
    await deployChatModel(stack, operator, model);
    const tenants: InferenceTenant[] = [];
    while (tenants.length < TENANTS) tenants.push(await seedInferenceTenant(stack, BALANCE_NANO_USD));
    await stack.startGateways();
    each.note('by prefix affinity');
    const { outcome, computed } = await byPrefix(stack, workload, (tenant, messages) =>
      complete(tenants[tenant]?.openai, model, messages),
    );
    return report(inTurn, outcome, computed);
  } catch (error) {
    throw new Error(`${String(error)}\nOutput of the stack:\n${stack.output().slice(-4_000)}`, {
      cause: error,
    });
  } finally {
    await stack.close();
  }
}

/** The odd number of tenants makes each tenant alternate between both servers. */
async function roundRobin(workload: Workload, instructions: readonly string[]): Promise<Outcome> {
  await using first = await startLlama({ name: 'in-turn-1', ...engine });
  await using second = await startLlama({ name: 'in-turn-2', ...engine });
  const clients = [first, second].map(({ url, apiKey }) => new OpenAI({ baseURL: `${url}/v1`, apiKey }));
  return await run(workload, instructions, (_tenant, messages, nth) =>
    complete(clients[nth % clients.length], first.model, messages),
  );
}

const ATTEMPTS = 5;

/**
 * Retries with other instructions, because once in 64 runs chance assigns all seven tenants to one engine, which cannot cache
 * them. Also retries if the machine stalled and too little was cached: an engine that does not respond counts as dead, and its
 * tenants move. A faulty gateway sends everything to one engine in every attempt.
 */
async function byPrefix(
  stack: InferenceStack,
  workload: Workload,
  send: (tenant: number, messages: Messages) => Promise<Prompt>,
): Promise<{ readonly outcome: Outcome; readonly computed: readonly number[] }> {
  for (let attempt = 1; ; attempt += 1) {
    using watch = new StallWatch();
    const before = await promptTokensOf(stack.llamas);
    const outcome = await run(workload, instructionsOf(workload), send);
    const after = await promptTokensOf(stack.llamas);
    const computed = after.map((tokens, at) => tokens - (before[at] ?? 0));
    const isUnderStalls = watch.stalls.length > 0 && outcome.cachedShare < MIN_CACHED_SHARE_WITH_AFFINITY;
    const isMeaningful = computed.every((tokens) => tokens > 0) && !isUnderStalls;
    if (attempt === ATTEMPTS || isMeaningful) return { outcome, computed };
  }
}

function promptTokensOf(llamas: readonly TestLlama[]): Promise<number[]> {
  return Promise.all(
    llamas.map(async (llama) => (await llama.metrics()).get('llamacpp:prompt_tokens_total') ?? 0),
  );
}

async function complete(client: OpenAI | undefined, model: string, messages: Messages): Promise<Prompt> {
  if (client === undefined) throw new Error('The request has no client.');
  // A slow machine may respond 503 until the first credit is granted.
  const body = { model, messages, max_tokens: 4, temperature: 0 };
  const { usage } = await client.chat.completions.create(body, { maxRetries: 10 });
  const cached = usage?.prompt_tokens_details?.cached_tokens;
  if (usage === undefined || cached === undefined)
    throw new Error('A response did not report its cached tokens.');
  return { tokens: usage.prompt_tokens, cached };
}

function report(inTurn: Outcome, outcome: Outcome, computed: readonly number[]): ProofReport {
  const failures: string[] = [];
  if (outcome.cachedShare < MIN_CACHED_SHARE_WITH_AFFINITY) {
    failures.push(
      `with prefix affinity only ${percent(outcome.cachedShare)} of the prompt tokens were cached`,
    );
  }
  if (inTurn.cachedShare >= MAX_CACHED_SHARE_ROUND_ROBIN) {
    failures.push(
      `with round robin ${percent(inTurn.cachedShare)} were cached, so the comparison is not meaningful`,
    );
  }
  if (computed.some((tokens) => tokens === 0)) failures.push('one engine got no request');
  if (outcome.promptTokens === 0) failures.push('no engine counted any prompt');
  return {
    figures: {
      requests: outcome.requests,
      'prompt tokens per request': Math.round(outcome.promptTokens / outcome.requests),
      'cached, through two gateways': percent(outcome.cachedShare),
      'cached, round robin': percent(inTurn.cachedShare),
      'p50, through two gateways': `${Math.round(outcome.p50Ms)} ms`,
      'p50, round robin': `${Math.round(inTurn.p50Ms)} ms`,
      'computed prompt tokens, by engine': computed.join(' + '),
    },
    failures,
  };
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
