import { randomInt } from 'node:crypto';
import { seedOrganisation } from '@millrace/core/fixture';
import { newReadinessKey } from '@millrace/compute/readiness';
import { UnsupportedHostError, defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { ensureUp } from '@millrace/services';
import {
  createPatroniDatabase,
  createTestDatabase,
  eventually,
  startChatDouble,
  startPatroniCluster,
  type PatroniCluster,
  type TestDatabase,
} from '@millrace/testing';
import { openInferenceStack, type InferenceStack } from '../stack/inference-stack.ts';
import {
  addDeployment,
  addModel,
  CHAT_PRICES,
  createCaller,
  seedInferenceTenant,
  seedOperator,
} from '../stack/inference-tenant.ts';
import { MOCK_REGION } from '../stack/mock-stack.ts';
import { createRowReader } from '../stack/supervised-process.ts';
import { checkAfterFailovers, type CheckedLoad } from './failover/checks.ts';
import { failOver, figuresOf, type Failover, type FailoverKind } from './failover/failovers.ts';
import { startWriters } from './failover/writers.ts';
import { waitForUsageQuiescence } from './gateway-kill/checker.ts';
import { startLoad, type Load, type Question } from './gateway-kill/load.ts';
import { waitWhileProgress } from './progress.ts';

export const proof = defineProof({
  name: 'failover',
  company: 'alone',
  proves:
    'Two apis, two gateways and two workers use a Patroni cluster of three PostgreSQL servers with the settings that we ship (ttl 20 s, synchronous, strict). Under grants, new keys, rentals, chats and long streams, the primary is changed by switchovers and by kill -9 of Patroni and PostgreSQL together. No acknowledged change is lost and each request has one effect. No request gets a 500, no stream is cut, writes succeed again within 45 s, and the full audit is clean.',
  // One switchover and one kill take more than a minute, and the release tests lose a machine of three too.
  short: null,
  long: (run) => prove(run, { kinds: tenOfEach(run), writersPerKind: 2, chatClients: 4 }),
});

interface Size {
  readonly kinds: readonly FailoverKind[];
  readonly writersPerKind: number;
  readonly chatClients: number;
}

const [FAST_MODEL, SLOW_MODEL] = ['fast', 'slow'];
const SLOW_TOKENS = 80;
const SLOW_PAUSE_MS = 400;
const BALANCE = 100_000_000_000n;
const WARM_UP_MS = 3_000;
/** A stream of this question is open during a whole failover. */
const long: Question = { model: SLOW_MODEL, content: 'Grind slowly.', maxTokens: SLOW_TOKENS };
const short: Question = { model: FAST_MODEL, content: 'Hello!', maxTokens: 8 };

function tenOfEach(run: ProofRun): FailoverKind[] {
  const each = Array.from({ length: 10 }, (): FailoverKind[] => ['switchover', 'kill']);
  return run.random.shuffle(each.flat());
}

async function prove(run: ProofRun, size: Size): Promise<ProofReport> {
  if (process.getuid?.() !== 0) throw new UnsupportedHostError('the proof needs root for PID namespaces.');
  await ensureUp(['haproxy', 'patroni', 'postgres']);
  await using cluster = await startPatroniCluster();
  const tokens = Array.from({ length: SLOW_TOKENS }, () => ' flour');
  await using slow = await startChatDouble({ engine: 'vllm', tokens, pauseMs: SLOW_PAUSE_MS });
  await using fast = await startChatDouble({ engine: 'vllm', tokens: tokens.slice(0, 8), pauseMs: 5 });
  // Machines are in another database, as those of a real engine are.
  await using engine = await createTestDatabase();
  await createRowReader(engine)('alter table mock_machines drop constraint mock_machines_org_id_fkey');
  const stack = await openInferenceStack({
    proxy: 'haproxy',
    workers: 2,
    llamas: [],
    database: await createPatroniDatabase(cluster),
    env: {
      MILLRACE_PROVIDERS: JSON.stringify([providerOf(engine)]),
      MILLRACE_FLEET_READ_MS: '1000',
    },
  });
  try {
    const doubles = { [SLOW_MODEL]: slow.address, [FAST_MODEL]: fast.address };
    const load = await openLoad(run, stack, { size, engine, doubles });
    await systemClock.sleep(WARM_UP_MS);
    const failovers = await failAll(run, cluster, load, size);
    run.note('waiting for the last responses');
    await Promise.all([load.writers.end(), load.chatLoad.stop()]);
    await settle(stack);
    const failures = [
      ...failovers.flatMap(({ failures: each }) => each),
      ...(await checkAfterFailovers(stack, load)),
    ];
    return { figures: figuresOf(failovers, load), failures };
  } catch (error) {
    for (const { name, output } of [...stack.apis, ...stack.workers, ...stack.gateways]) {
      run.note(`--- ${name}\n${output().slice(-3_000)}`);
    }
    run.note(cluster.output());
    throw error;
  } finally {
    await stack.close();
  }
}

function providerOf(engine: TestDatabase): object {
  const firstAddress = `127.${randomInt(20, 120)}.${randomInt(1, 250)}.1`;
  const settings = { firstAddress, databaseUrl: engine.url };
  return {
    id: 'mock',
    variant: 'mock',
    regions: [{ region: MOCK_REGION, customPorts: true }],
    clusters: [{ name: 'mock', region: MOCK_REGION, settings }],
  };
}

interface FailoverLoad extends CheckedLoad {
  readonly chatLoad: Load;
}

async function openLoad(
  run: ProofRun,
  stack: InferenceStack,
  deps: {
    readonly size: Size;
    readonly engine: TestDatabase;
    readonly doubles: Readonly<Record<string, string>>;
  },
): Promise<FailoverLoad> {
  const { size, engine, doubles } = deps;
  const operator = await seedOperator(stack);
  for (const [name, address] of Object.entries(doubles)) {
    await addModel(operator, { name, modality: 'chat', prices: CHAT_PRICES, contextLength: 4_096 });
    await addDeployment(operator, { model: name, engine: 'vllm', address });
  }
  const { db } = stack.database;
  const { organisation: granted } = await seedOrganisation(db);
  const { owner: operatorOwner } = await seedOrganisation(db, { platformRole: 'operator' });
  const { owner, ownerKey } = await seedOrganisation(db);
  const { key: testKey } = await ownerKey('test');
  const test = createCaller(stack.apiUrl, testKey);
  await test('POST', '/v2/ssh-public-keys', { name: 'laptop', publicKey: newReadinessKey().publicKey });
  const tenant = await seedInferenceTenant(stack, BALANCE);
  await stack.startGateways();
  await eventually({ what: 'the model to be on offer', timeoutMs: 120_000 }, async () => {
    const { data } = await tenant.openai.models.list();
    return data.length === 2;
  });
  await eventually({ what: 'free machines', timeoutMs: 120_000 }, async () => {
    const [fleet] = await stack.rows<{ gpus: number }>(
      'select coalesce(sum(gpus_free), 0)::int as gpus from node_capacity where placeable',
    );
    return (fleet?.gpus ?? 0) > 0;
  });
  const chatLoad = startLoad({
    gatewayUrl: stack.gatewayUrl,
    tenants: [tenant],
    clients: size.chatClients,
    random: run.random,
    short: [short],
    long,
  });
  const writers = startWriters({
    url: stack.apiUrl,
    region: MOCK_REGION,
    operatorKey: operatorOwner.key,
    grantedOrganisation: granted.id,
    tenantKey: owner.key,
    testKey,
    writersPerKind: size.writersPerKind,
  });
  return { chatLoad, chats: chatLoad.results, writers, grantedOrganisation: granted.id, engine };
}

async function failAll(
  run: ProofRun,
  cluster: PatroniCluster,
  load: FailoverLoad,
  { kinds }: Size,
): Promise<Failover[]> {
  const failovers: Failover[] = [];
  for (const kind of kinds) {
    await untilStreamsAreOpen(load);
    failovers.push(await failOver(run, cluster, kind, load));
    if (load.writers.failures.length > 0) break;
  }
  return failovers;
}

/** A stream that opened before the fault must be open during it. */
async function untilStreamsAreOpen({ chats }: FailoverLoad): Promise<void> {
  await eventually({ what: 'an open stream', timeoutMs: 300_000 }, () =>
    chats.some(({ endedMs, hasReceivedData, question }) => {
      return endedMs === 0 && hasReceivedData && question.model === SLOW_MODEL;
    }),
  );
}

/** Waits until all usage is charged and all rentals have ended. */
async function settle(stack: InferenceStack): Promise<void> {
  const stuckAfterMs = 120_000;
  const usage = await waitForUsageQuiescence(stack, stuckAfterMs);
  const rentals = await waitWhileProgress({ stuckAfterMs, intervalMs: 250 }, async () => {
    const [left] = await stack.rows<{ list: string }>(
      `select string_agg(concat_ws(' ', wire_id, status, task), ', ' order by wire_id) as list from rentals
        where status <> 'Terminated' or exists (select from rental_machines as machine
                where machine.rental_id = rentals.id and machine.state <> 'gone')`,
    );
    return left?.list ?? null;
  });
  if (usage === null) throw new Error('The usage of chats was not charged.');
  if (rentals === null) throw new Error('The rentals did not end.');
}
