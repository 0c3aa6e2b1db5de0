import { defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { eventually, startChatDouble } from '@millrace/testing';
import { openInferenceStack, type InferenceStack } from '../stack/inference-stack.ts';
import {
  addDeployment,
  addModel,
  CHAT_PRICES,
  seedInferenceTenant,
  seedOperator,
  deployChatModel,
} from '../stack/inference-tenant.ts';
import { checkRequests, waitForUsageQuiescence } from './gateway-kill/checker.ts';
import { startLoad, type Question } from './gateway-kill/load.ts';
import { injectFault, faultTitles, type InjectedFault, type FaultTarget } from './gateway-kill/faults.ts';
import { StallWatch } from './stalls.ts';

export const proof = defineProof({
  name: 'gateway-kill',
  company: 'alone',
  proves:
    'Chat runs over two gateways and two llama-servers while gateway, NATS node, Valkey, PostgreSQL, the sink and an upstream are killed with kill -9 in turn. Reported usage is charged once and exactly to the nano-USD, no request is charged for more than it produced, only requests that a kill affects fail, and the auditor finds no drift. The long form also removes the NATS quorum for 60 s, fills the usage stream, and thaws a gateway that was declared dead.',
  short: (run) => prove(run, { ...longTimeouts, targets: allTargets, clients: 8, tenants: 2 }),
  long: async (run) => {
    const many = await prove(run, { ...longTimeouts, targets: randomTargets(run), clients: 12, tenants: 4 });
    const reaped = await prove(run, {
      ...shortTimeouts,
      targets: ['gateway', 'frozen'],
      clients: 8,
      tenants: 2,
    });
    return {
      figures: { ...many.figures, ...prefixed('with a gateway declared dead: ', reaped.figures) },
      failures: [...(many.failures ?? []), ...(reaped.failures ?? [])],
    };
  },
});

const allTargets: readonly FaultTarget[] = ['gateway', 'nats', 'postgres', 'sink', 'valkey', 'upstream'];

function randomTargets({ random }: ProofRun): FaultTarget[] {
  const rounds = Array.from({ length: 8 }, () => random.shuffle(allTargets)).flat();
  return [...rounds, 'full', 'quorum', ...random.shuffle(allTargets)];
}

interface Size {
  readonly targets: readonly FaultTarget[];
  readonly clients: number;
  readonly tenants: number;
  readonly env: Readonly<Record<string, string>>;
  /** Pause between the tokens of a long answer, which has a hundred. */
  readonly pauseMs: number;
  readonly warmUpMs: number;
  /** Time after the last request without newly settled usage, after which waiting usage counts as stuck. */
  readonly stuckAfterMs: number;
}

/** Leases outlast the restart of a worker or PostgreSQL on a busy machine. */
const longTimeouts = {
  env: { MILLRACE_POT_OUTAGE_MS: '120000', MILLRACE_POT_LONGEST_REQUEST_MS: '60000' },
  pauseMs: 40,
  warmUpMs: 0,
  stuckAfterMs: 60_000,
} as const;

/**
 * A lease lasts for twice the outage plus the longest request. A gateway that is silent for twice that time, 92 s, is declared
 * dead. Long answers last 25 s and have a checkpoint after 15 s.
 */
const shortTimeouts = {
  env: { MILLRACE_POT_OUTAGE_MS: '3000', MILLRACE_POT_LONGEST_REQUEST_MS: '40000' },
  pauseMs: 250,
  warmUpMs: 20_000,
  stuckAfterMs: 180_000,
} as const;

const prefixed = (prefix: string, figures: ProofReport['figures']): ProofReport['figures'] =>
  Object.fromEntries(Object.entries(figures).map(([name, figure]) => [prefix + name, figure]));

const MODEL = 'millrace-tiny';
const SLOW_MODEL = 'slow';
const INITIAL_BALANCE = 100_000_000_000n;
const short: readonly Question[] = [
  'Hello!',
  'Who are you?',
  'What colour is the sky?',
  'What is an H200?',
  'How am I billed?',
  'Count down from 6.',
].map((content) => ({ model: MODEL, content, maxTokens: 60 }));
/** Lasts longer than most faults. */
const long: Question = { model: SLOW_MODEL, content: 'Grind slowly.', maxTokens: 100 };

async function prove(run: ProofRun, size: Size): Promise<ProofReport> {
  await using slow = await startChatDouble({
    engine: 'vllm',
    tokens: Array.from({ length: long.maxTokens }, () => ' flour'),
    pauseMs: size.pauseMs,
  });
  const stack = await openInferenceStack({
    gateways: 2,
    engines: 'killable',
    llamas: [{ parallel: 8 }, { parallel: 8 }],
    env: size.env,
  });
  try {
    await addModels(stack, slow.address);
    const tenants = await Promise.all(
      Array.from({ length: size.tenants }, async () => ({
        tenant: await seedInferenceTenant(stack, INITIAL_BALANCE),
        givenNanoUsd: INITIAL_BALANCE,
      })),
    );
    await stack.startGateways();
    const [first] = tenants;
    await eventually({ what: 'both models to be on offer' }, async () => {
      const { data } = (await first?.tenant.openai.models.list()) ?? { data: [] };
      return data.length === 2;
    });
    const load = startLoad({
      gatewayUrl: stack.gatewayUrl,
      tenants: tenants.map(({ tenant }) => tenant),
      clients: size.clients,
      random: run.random.fork(1),
      short,
      long,
    });
    using watch = new StallWatch();
    await systemClock.sleep(size.warmUpMs);
    const injected = await injectFaultsInTurn(run, stack, size.targets);
    await systemClock.sleep(2_000);
    await load.stop();
    const { stalls } = watch;
    const restMs = await waitForUsageQuiescence(stack, size.stuckAfterMs);
    const report = await checkRequests(stack, tenants, load.results, { injected, stalls });
    const failures = [...report.failures];
    if (restMs === null) failures.push('some usage was not settled after the last request');
    return { figures: { ...countOf(injected), ...report.figures }, failures };
  } catch (error) {
    run.note(stack.output().slice(-8_000));
    throw error;
  } finally {
    await stack.close();
  }
}

async function addModels(stack: InferenceStack, slowAddress: string): Promise<void> {
  const operator = await seedOperator(stack);
  await deployChatModel(stack, operator, MODEL);
  await addModel(operator, { name: SLOW_MODEL, modality: 'chat', prices: CHAT_PRICES, contextLength: 4_096 });
  await addDeployment(operator, { model: SLOW_MODEL, engine: 'vllm', address: slowAddress });
}

async function injectFaultsInTurn(
  run: ProofRun,
  stack: InferenceStack,
  targets: readonly FaultTarget[],
): Promise<InjectedFault[]> {
  const random = run.random.fork(2);
  const injected: InjectedFault[] = [];
  for (const target of targets) {
    await systemClock.sleep(random.int(1_000, 2_500));
    const fault = await injectFault(stack, target, random);
    injected.push(fault);
    run.note(`${target} was down for ${Math.round(fault.backMs - fault.struckMs)} ms`);
  }
  return injected;
}

function countOf(injected: readonly InjectedFault[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { target } of injected) {
    const name = faultTitles[target];
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
