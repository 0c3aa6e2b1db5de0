import { defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { ensureUp } from '@millrace/services';
import { eventually, startChatDouble } from '@millrace/testing';
import { openInferenceStack, type InferenceStack } from '../stack/inference-stack.ts';
import {
  addDeployment,
  addModel,
  CHAT_PRICES,
  deployChatModel,
  seedInferenceTenant,
  seedOperator,
} from '../stack/inference-tenant.ts';
import { untilAllReady, type PublicProxy } from '../stack/public-proxy.ts';
import { errorLines, type SupervisedProcess } from '../stack/supervised-process.ts';
import { addCredentials, replaceEngineCertificates } from './rolling-restart/credentials.ts';
import { startLoad, type Load } from './rolling-restart/load.ts';

export const proof = defineProof({
  name: 'rolling-restart',
  company: 'alone',
  proves:
    'HAProxy as we ship it is in front of two apis and two gateways, and all engines require TLS and credentials. Under reads, idempotent writes, signed-in users, chats and long streams, each process is drained and restarted in turn. The certificates of processes and engines, the logins of the database, the keys for NATS and the secret of sign-in are replaced. No request fails, and every stream ends.',
  short: (run) => prove(run, { rounds: 1, tokenPauseMs: 150, isStrict: false }),
  long: (run) => prove(run, { rounds: 5, tokenPauseMs: 500, isStrict: true }),
});

interface Size {
  /** Restarts of all processes before the rotation. */
  readonly rounds: number;
  readonly tokenPauseMs: number;
  /** On a busy machine, a grant of credit may take longer than a request waits. */
  readonly isStrict: boolean;
}

const MODEL = 'millrace-tiny';
const SLOW_MODEL = 'slow';
const SLOW_TOKENS = 60;
const BALANCE = 100_000_000_000n;
/** More than HAProxy needs to notice: two checks, each second. */
const LAME_DUCK_MS = 5_000;
const LOAD_SCOPES = ['inference:read', 'inference:write', 'billing:read', 'api-keys:write', 'rentals:read'];
const WARM_UP_MS = 2_000;
const UNLIMITED = '1000000';
const [oldSecret, newSecret] = [
  'secret before the rotation of proofs',
  'secret after the rotation of proofs',
];

async function prove(run: ProofRun, size: Size): Promise<ProofReport> {
  await ensureUp(['haproxy']);
  await using slow = await startChatDouble({
    engine: 'vllm',
    tokens: Array.from({ length: SLOW_TOKENS }, () => ' flour'),
    pauseMs: size.tokenPauseMs,
  });
  const stack = await openInferenceStack({
    proxy: 'haproxy',
    engines: 'secure',
    workers: 2,
    llamas: [{ parallel: 4 }],
    env: { MILLRACE_LAME_DUCK_MS: String(LAME_DUCK_MS) },
    apiEnv: {
      MILLRACE_AUTH_SECRET: oldSecret,
      MILLRACE_SIGN_UP: 'open',
      MILLRACE_SIGN_IN_ADDRESS_TRIES: UNLIMITED,
      MILLRACE_RATE_LIMIT_PERSON_RPM: UNLIMITED,
      MILLRACE_RATE_LIMIT_ANONYMOUS_RPM: UNLIMITED,
    },
  });
  try {
    const load = await openLoad(stack, slow.address);
    await systemClock.sleep(WARM_UP_MS);
    const failures = await restartAll(run, stack, load, size.rounds);
    failures.push(
      ...(await load.end()),
      ...[...stack.apis, ...stack.gateways, ...stack.workers].flatMap(errorLines),
    );
    const repeats = load.counts['chats repeated because credit came late'];
    if (size.isStrict && repeats > 0) failures.push(`${repeats} chats were refused until credit was granted`);
    return { figures: { ...load.counts, restarts: 6 * size.rounds + 2 }, failures };
  } catch (error) {
    run.note(stack.output().slice(-8_000));
    throw error;
  } finally {
    await stack.close();
  }
}

/** Starts the load once both models answer through the proxy. */
async function openLoad(stack: InferenceStack, slowAddress: string): Promise<Load> {
  const operator = await seedOperator(stack);
  await deployChatModel(stack, operator, MODEL);
  await addModel(operator, { name: SLOW_MODEL, modality: 'chat', prices: CHAT_PRICES, contextLength: 4_096 });
  await addDeployment(operator, { model: SLOW_MODEL, engine: 'vllm', address: slowAddress });
  const tenant = await seedInferenceTenant(stack, BALANCE);
  await stack.startGateways();
  await eventually({ what: 'both models to be on offer', timeoutMs: 120_000 }, async () => {
    const { data } = await tenant.openai.models.list();
    return data.length === 2;
  });
  const { key } = await tenant.newKey({ scopes: LOAD_SCOPES });
  return startLoad({ url: stack.apiUrl, key, chatModel: MODEL, slowModel: SLOW_MODEL });
}

/** Returns the failures. Secrets and credentials are replaced in the steps of the guides. */
async function restartAll(
  run: ProofRun,
  stack: InferenceStack,
  load: Load,
  rounds: number,
): Promise<string[]> {
  const { proxy, apis, gateways, workers } = stack;
  if (proxy === null) throw new Error('The stack has no proxy.');
  const failures: string[] = [];
  const restart = async (
    each: SupervisedProcess,
    changes: Readonly<Record<string, string>>,
  ): Promise<void> => {
    failures.push(...(await restartInTurn(each, proxy, load, changes)));
    run.note(`${each.name} was restarted`);
  };
  await replaceEngineCertificates(stack);
  run.note('the certificates of all engines were replaced');
  const credentials = await addCredentials(stack);
  const accepted = { MILLRACE_AUTH_OTHER_SECRETS: newSecret };
  for (let round = 0; round < rounds; round += 1) {
    for (const [nth, api] of apis.entries()) {
      await restart(api, { ...accepted, ...credentials.settingsOf('api') });
      const [gateway, worker] = [gateways[nth], workers[nth]];
      if (gateway !== undefined) await restart(gateway, credentials.settingsOf('gateway'));
      if (worker !== undefined) await restart(worker, credentials.settingsOf('worker'));
    }
  }
  failures.push(...(await credentials.disableEarlierLogins()));
  run.note('the earlier logins of the database were ended');
  await proxy.replaceCertificate([...proxy.apis, ...proxy.gateways]);
  run.note('the certificate of all processes was replaced');
  const active = { MILLRACE_AUTH_SECRET: newSecret, MILLRACE_AUTH_OTHER_SECRETS: oldSecret };
  for (const api of apis) await restart(api, active);
  return failures;
}

/** Stops one process while all others serve, and starts it again. Returns the failures. */
async function restartInTurn(
  restarted: SupervisedProcess,
  proxy: PublicProxy,
  load: Load,
  changes: Readonly<Record<string, string>>,
): Promise<string[]> {
  await untilAllReady(proxy);
  const stoppedMs = systemClock.monotonicMs();
  const open = load.openStreams();
  const code = await restarted.stop();
  const tookMs = systemClock.monotonicMs() - stoppedMs;
  await restarted.start(changes);
  return [
    ...(code === 0 ? [] : [`${restarted.name} exited with ${code} after ${Math.round(tookMs)} ms`]),
    ...(tookMs >= LAME_DUCK_MS
      ? []
      : [`${restarted.name} ended after ${Math.round(tookMs)} ms, before HAProxy noticed`]),
    ...(open > 0 ? [] : [`no long stream was open when ${restarted.name} was stopped`]),
  ];
}
