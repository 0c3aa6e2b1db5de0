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

/** One more than an engine has slots, so that no engine can keep them all, and two engines can. Odd: see `roundRobin`. */
const TENANTS = 7;
const engine: LlamaSettings = { parallel: TENANTS - 1, cacheRamMib: 0 };
const GATEWAYS = 2;
const MIN_CACHED_SHARE_WITH_AFFINITY = 0.8;
const MAX_CACHED_SHARE_ROUND_ROBIN = 0.1;
const BALANCE_NANO_USD = 100_000_000_000n;

export const proof = defineProof({
  name: 'affinity',
  proves:
    'Of the prompt tokens of tenants with long instructions, at least 80 % come from the cache of two llama-servers behind two gateways, where the same requests sent to two such servers in turn find under 10 %.',
  short: (each) => prove(each, { rounds: 12, characters: 1_800 }),
  long: (each) => prove(each, { rounds: 40, characters: 5_000 }),
});

async function prove(each: ProofRun, size: Pick<Workload, 'rounds' | 'characters'>): Promise<ProofReport> {
  const workload: Workload = { tenants: TENANTS, random: each.random, ...size };
  each.note('in turn');
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
    each.note('by prefix');
    const { outcome, computed } = await byPrefix(stack, workload, (tenant, messages) =>
      complete(tenants[tenant]?.openai, model, messages),
    );
    return report(inTurn, outcome, computed);
  } catch (error) {
    throw new Error(`${String(error)}\nThe stack said:\n${stack.output().slice(-4_000)}`, { cause: error });
  } finally {
    await stack.close();
  }
}

/** Whichever tenant it is: the odd number of them makes each go to both in turn. */
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
 * Once in 64 runs chance has all seven tenants at one engine, which cannot keep them and shows nothing; then they get other
 * instructions. They also get others if the machine stalled and too little was cached: an engine that does not answer for a while
 * counts as dead, and its tenants go to the other one. A faulty gateway sends everything to one engine in every attempt.
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
  if (client === undefined) throw new Error('Nobody is there to ask.');
  // A slow machine may refuse with 503 until the first credit was lent; clients repeat that.
  const body = { model, messages, max_tokens: 4, temperature: 0 };
  const { usage } = await client.chat.completions.create(body, { maxRetries: 10 });
  const cached = usage?.prompt_tokens_details?.cached_tokens;
  if (usage === undefined || cached === undefined) throw new Error('An answer did not say what was cached.');
  return { tokens: usage.prompt_tokens, cached };
}

function report(inTurn: Outcome, outcome: Outcome, computed: readonly number[]): ProofReport {
  const failures: string[] = [];
  if (outcome.cachedShare < MIN_CACHED_SHARE_WITH_AFFINITY) {
    failures.push(`by prefix only ${percent(outcome.cachedShare)} of the prompt tokens were cached`);
  }
  if (inTurn.cachedShare >= MAX_CACHED_SHARE_ROUND_ROBIN) {
    failures.push(`in turn ${percent(inTurn.cachedShare)} were cached, so the comparison says nothing`);
  }
  if (computed.some((tokens) => tokens === 0)) failures.push('one engine was never asked');
  if (outcome.promptTokens === 0) failures.push('no engine counted any prompt');
  return {
    figures: {
      requests: outcome.requests,
      'prompt tokens of a request': Math.round(outcome.promptTokens / outcome.requests),
      'cached, through two gateways': percent(outcome.cachedShare),
      'cached, in turn': percent(inTurn.cachedShare),
      'p50 through two gateways': `${Math.round(outcome.p50Ms)} ms`,
      'p50 in turn': `${Math.round(inTurn.p50Ms)} ms`,
      'computed prompt tokens, by engine': computed.join(' + '),
    },
    failures,
  };
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
