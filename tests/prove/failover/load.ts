import { randomInt } from 'node:crypto';
import { newReadinessKey } from '@millrace/compute/readiness';
import { seedOrganisation } from '@millrace/core/fixture';
import type { ProofRun } from '@millrace/runners';
import { createTestDatabase, eventually, startChatDouble, type TestDatabase } from '@millrace/testing';
import type { InferenceStack } from '../../stack/inference-stack.ts';
import {
  addDeployment,
  addModel,
  CHAT_PRICES,
  createCaller,
  seedInferenceTenant,
  seedOperator,
  type InferenceTenant,
} from '../../stack/inference-tenant.ts';
import { MOCK_REGION } from '../../stack/mock-stack.ts';
import { createRowReader } from '../../stack/supervised-process.ts';
import { waitForUsageQuiescence } from '../gateway-kill/checker.ts';
import { startLoad, type Load, type Question } from '../gateway-kill/load.ts';
import { waitWhileProgress } from '../timing/progress.ts';
import type { CheckedLoad } from './checks.ts';
import { startWriters, type WriterOptions } from './writers.ts';

/** Grants, new keys, rentals of simulated machines, chats and long streams at one address. */

export const SLOW_MODEL = 'slow';
const FAST_MODEL = 'fast';
const SLOW_TOKENS = 80;
/** A stream is open during a whole failover. */
const SLOW_PAUSE_MS = 400;
const BALANCE = 100_000_000_000n;
const long: Question = { model: SLOW_MODEL, content: 'Grind slowly.', maxTokens: SLOW_TOKENS };
const short: Question = { model: FAST_MODEL, content: 'Hello!', maxTokens: 8 };

/** The engines of models and machines that the load uses. */
export interface LoadDoubles extends AsyncDisposable {
  /** The settings that a stack needs to use them. */
  readonly env: Readonly<Record<string, string>>;
  readonly models: Readonly<Record<string, string>>;
  /** The database of the simulated machines. */
  readonly engine: TestDatabase;
}

export async function startDoubles(pauseMs = SLOW_PAUSE_MS): Promise<LoadDoubles> {
  const tokens = Array.from({ length: SLOW_TOKENS }, () => ' flour');
  await using started = new AsyncDisposableStack();
  const slow = started.use(await startChatDouble({ engine: 'vllm', tokens, pauseMs }));
  const fast = started.use(await startChatDouble({ engine: 'vllm', tokens: tokens.slice(0, 8), pauseMs: 5 }));
  // Machines are in another database, as those of a real engine are.
  const engine = started.use(await createTestDatabase());
  await createRowReader(engine)('alter table mock_machines drop constraint mock_machines_org_id_fkey');
  const owned = started.move();
  return {
    env: { MILLRACE_PROVIDERS: JSON.stringify([providerOf(engine)]), MILLRACE_FLEET_READ_MS: '1000' },
    models: { [SLOW_MODEL]: slow.address, [FAST_MODEL]: fast.address },
    engine,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
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

export interface WriteAndChatLoad extends CheckedLoad {
  readonly chatLoad: Load;
  readonly tenants: readonly { readonly tenant: InferenceTenant; readonly givenNanoUsd: bigint }[];
}

export interface LoadSize extends Pick<WriterOptions, 'writersPerKind' | 'lostStatuses'> {
  readonly chatClients: number;
}

/** Starts the gateways and, once all answers, the load. */
export async function openLoad(
  run: ProofRun,
  stack: InferenceStack,
  { chatClients, doubles, ...size }: LoadSize & { readonly doubles: LoadDoubles },
): Promise<WriteAndChatLoad> {
  const { engine } = doubles;
  const operator = await seedOperator(stack);
  for (const [name, address] of Object.entries(doubles.models)) {
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
  const tenant = await seedInferenceTenant(stack, 0n);
  // By the api: the database may have the schema of another release.
  const grant = { amountNanoUsd: String(BALANCE), reason: 'to begin with' };
  await operator.do('POST', `/v2/admin/organisations/${tenant.orgId}/grants`, grant);
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
    clients: chatClients,
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
    ...size,
  });
  return {
    ...{ chatLoad, chats: chatLoad.results, writers, grantedOrganisation: granted.id, engine },
    tenants: [{ tenant, givenNanoUsd: BALANCE }],
  };
}

/** Waits until all usage is charged and all rentals have ended. Returns a sentence for each that did not. */
export async function waitForEndOfWork(stack: InferenceStack, stuckAfterMs = 120_000): Promise<string[]> {
  const usage = await waitForUsageQuiescence(stack, stuckAfterMs);
  const rentals = await waitWhileProgress({ stuckAfterMs, intervalMs: 250 }, async () => {
    const [left] = await stack.rows<{ list: string }>(
      `select string_agg(concat_ws(' ', wire_id, status, task), ', ' order by wire_id) as list from rentals
        where status <> 'Terminated' or exists (select from rental_machines as machine
                where machine.rental_id = rentals.id and machine.state <> 'gone')`,
    );
    return left?.list ?? null;
  });
  return [
    ...(usage === null ? ['the usage of chats was not charged'] : []),
    ...(rentals === null ? ['the rentals did not end'] : []),
  ];
}
