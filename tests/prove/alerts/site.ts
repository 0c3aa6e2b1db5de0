import { randomInt } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { newReadinessKey } from '@millrace/compute/readiness';
import { seedOrganisation } from '@millrace/core/fixture';
import type { OrgId } from '@millrace/platform/ids';
import { down } from '@millrace/services';
import {
  createTestDatabase,
  engineEnv,
  eventually,
  startBackedUpPostgres,
  startChatDouble,
  startPostgresServer,
  startTcpProxy,
  type BackedUpPostgres,
  type ChatDouble,
  type TcpProxy,
  type TestPostgres,
} from '@millrace/testing';
import { openInferenceStack, type InferenceStack } from '../../stack/inference-stack.ts';
import {
  addDeployment,
  addModel,
  CHAT_PRICES,
  createCaller,
  seedInferenceTenant,
  seedOperator,
} from '../../stack/inference-tenant.ts';
import { MOCK_REGION } from '../../stack/mock-stack.ts';
import { createRowReader } from '../../stack/supervised-process.ts';
import type { WriterOptions } from '../failover/writers.ts';
import { insertWebhook } from '../webhooks/tenants.ts';
import type { SteadyLoadOptions } from './load.ts';

/** The product with metrics, on engines of its own that faults can stop. */
export interface Site {
  readonly stack: InferenceStack;
  readonly postgres: BackedUpPostgres;
  readonly postgresNode: { readonly stateDir: string };
  /** The time that the database is restored to; null before the backup. */
  restoreTarget: string | null;
  /** Null without a standby. */
  standby: TestPostgres | null;
  startStandby(): Promise<void>;
  /** Between the workers and the machine engine. */
  readonly cluster: TcpProxy;
  /** The engine of `faulty`. */
  readonly engine: ChatDouble;
  /** Between the gateways and the engine of `hanging`. */
  readonly hanging: TcpProxy;
  /** The organisation of which a fault defers the usage. */
  readonly deferredOrgId: OrgId;
  /** Ports with metrics, by job of the shipped Prometheus settings. */
  readonly targets: Readonly<Record<string, readonly number[]>>;
  readonly load: Omit<SteadyLoadOptions, 'timeoutMs'>;
  readonly writers: WriterOptions;
  readonly adminEnv: Readonly<Record<string, string>>;
}

export const models = { steady: 'steady', faulty: 'faulty', hanging: 'hanging' } as const;
const BALANCE = 100_000_000_000n;
/** Nothing listens there: the receiver of one tenant always fails. */
const CLOSED_ADDRESS = '127.0.0.2';
/** SIGUSR2 moves the clock of a process forward, or back to the correct time. */
const steppedClock = `const now = Date.now; let wrongMs = 0; Date.now = () => now() + wrongMs;
  process.on('SIGUSR2', () => { wrongMs = 60000 - wrongMs; });`;

export interface SiteSize {
  readonly workers: number;
  readonly gateways: number;
  readonly hasStandby: boolean;
}

export async function openSite(size: SiteSize, undo: AsyncDisposableStack): Promise<Site> {
  const folder = mkdtempSync(path.join(tmpdir(), 'mr-'));
  chmodSync(folder, 0o755);
  undo.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  const postgresNode = { stateDir: path.join(folder, 'postgres') };
  undo.defer(async () => void (await down([], { ...postgresNode, purge: true })));
  const postgres = await startBackedUpPostgres(folder);
  const database = await createTestDatabase({ postgresUrl: postgres.url });
  const machines = await createTestDatabase();
  undo.defer(() => machines.drop());
  // The engine's database has no organisations, only their ids.
  await createRowReader(machines)('alter table mock_machines drop constraint mock_machines_org_id_fkey');
  const cluster = undo.use(await startTcpProxy(machines.url));
  const engine = undo.use(await startChatDouble({ engine: 'vllm' }));
  const steady = undo.use(await startChatDouble({ engine: 'vllm' }));
  const hanging = undo.use(await startTcpProxy(steady.address));
  const providers = JSON.stringify([providerOf(cluster.rewrite(machines.url))]);
  const stack = await openInferenceStack({
    ...{ workers: size.workers, gateways: size.gateways },
    ...{ engines: 'plaintext', llamas: [], database, metrics: true },
    env: {
      MILLRACE_PROVIDERS: providers,
      MILLRACE_FLEET_READ_MS: '1000',
      MILLRACE_RESTATE_REGISTER_MS: '1000',
      MILLRACE_WEBHOOK_ALLOWED_NETWORKS: `${CLOSED_ADDRESS}/32`,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(steppedClock)}`,
    },
  });
  undo.defer(() => stack.close());
  const addresses = {
    [models.steady]: steady.address,
    [models.faulty]: engine.address,
    [models.hanging]: `http://127.0.0.1:${hanging.port}`,
  };
  const site: Site = {
    ...{ stack, postgres, postgresNode, cluster, engine, hanging, targets: targetsOf(stack) },
    ...(await seed(stack, addresses)),
    adminEnv: {
      ...engineEnv(
        { database, names: { natsPrefix: stack.natsPrefix }, endpoints: stack.endpoints },
        'admin',
      ),
      MILLRACE_POT_VALKEY_URL: stack.valkey.url,
      MILLRACE_PROVIDERS: providers,
    },
    standby: null,
    restoreTarget: null,
    startStandby: async () => {
      const settings = { max_connections: '200' };
      site.standby = await startPostgresServer({
        settings,
        standbyOf: { port: Number(new URL(postgres.url).port) },
      });
    },
  };
  undo.defer(() => site.standby?.[Symbol.asyncDispose]());
  if (size.hasStandby) await site.startStandby();
  return site;
}

function providerOf(databaseUrl: string): object {
  const firstAddress = `127.${randomInt(20, 120)}.${randomInt(1, 250)}.1`;
  const settings = { firstAddress, databaseUrl };
  return {
    id: 'mock',
    variant: 'mock',
    regions: [{ region: MOCK_REGION, customPorts: true }],
    clusters: [{ name: 'mock', region: MOCK_REGION, settings }],
  };
}

function targetsOf({ apis, workers, gateways }: InferenceStack): Site['targets'] {
  const ports = (processes: InferenceStack['apis']): number[] =>
    processes.map((each) => Number(each.env()['MILLRACE_PROMETHEUS_PORT']));
  return {
    'millrace-api': ports(apis),
    'millrace-worker': ports(workers),
    'millrace-gateway': ports(gateways),
  };
}

async function seed(
  stack: InferenceStack,
  addresses: Readonly<Record<string, string>>,
): Promise<Pick<Site, 'deferredOrgId' | 'load' | 'writers'>> {
  const { db } = stack.database;
  const operator = await seedOperator(stack);
  for (const [name, address] of Object.entries(addresses)) {
    await addModel(operator, { name, modality: 'chat', prices: CHAT_PRICES, contextLength: 4_096 });
    await addDeployment(operator, { model: name, engine: 'vllm', address });
  }
  const { organisation: granted } = await seedOrganisation(db);
  const { owner: operatorOwner } = await seedOrganisation(db, { platformRole: 'operator' });
  const { owner, ownerKey, organisation } = await seedOrganisation(db);
  const { key: testKey } = await ownerKey('test');
  await createCaller(stack.apiUrl, testKey)('POST', '/v2/ssh-public-keys', {
    name: 'laptop',
    publicKey: newReadinessKey().publicKey,
  });
  await insertWebhook(db, organisation.id, `https://${CLOSED_ADDRESS}:9`);
  const tenant = await seedInferenceTenant(stack, BALANCE);
  const deferred = await seedInferenceTenant(stack, BALANCE);
  await stack.startGateways();
  await eventually({ what: 'the models to be on offer', timeoutMs: 120_000 }, async () => {
    const { data } = await tenant.openai.models.list();
    return data.length === Object.keys(addresses).length;
  });
  const { key, orgId: deferredOrgId } = deferred;
  // The first request of each organisation waits for its first lease.
  for (const { openai } of [tenant, deferred])
    await openai.chat.completions.create({
      model: models.steady,
      messages: [{ role: 'user', content: 'Hello!' }],
    });
  return {
    deferredOrgId,
    load: {
      apiUrl: stack.apiUrl,
      gatewayUrl: stack.gatewayUrl,
      apiKey: owner.key,
      chats: [
        { key: tenant.key, model: models.steady },
        { key: tenant.key, model: models.faulty },
        { key: tenant.key, model: models.hanging },
        { key, model: models.steady },
      ],
    },
    writers: {
      url: stack.apiUrl,
      region: MOCK_REGION,
      operatorKey: operatorOwner.key,
      grantedOrganisation: granted.id,
      tenantKey: owner.key,
      testKey,
      writersPerKind: 1,
    },
  };
}
