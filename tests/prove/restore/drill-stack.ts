import { randomInt } from 'node:crypto';
import { mkdtempSync, chmodSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { down, ensureUp, type Role } from '@millrace/services';
import {
  connectTestNats,
  createTestDatabase,
  engineEnv,
  unregisterDeploymentsAt,
  freePorts,
  startBackedUpPostgres,
  startChatDouble,
  startStripeDouble,
  startValkeyServer,
  testNames,
  type BackedUpPostgres,
  type StripeDouble,
  type TestDatabase,
  type TestValkey,
} from '@millrace/testing';
import { eventChannels } from '@millrace/core/events';
import { usageSubjects } from '@millrace/core/inference';
import type { NatsClient } from '@millrace/platform/nats';
import { MOCK_REGION } from '../../stack/mock-stack.ts';
import {
  createRowReader,
  supervise,
  type ReadRows,
  type SupervisedProcess,
} from '../../stack/supervised-process.ts';

/** The whole product on a PostgreSQL that can be restored. Machines, leases, payments and published events are outside it. */
export interface DrillStack {
  readonly apiUrl: string;
  readonly gatewayUrl: string;
  readonly workerUrl: string;
  readonly postgres: BackedUpPostgres;
  readonly database: TestDatabase;
  readonly valkey: TestValkey;
  readonly stripe: StripeDouble;
  readonly chatAddress: string;
  readonly nats: NatsClient;
  /** The streams of events and usage. */
  readonly streams: Readonly<Record<'events' | 'usage', string>>;
  readonly api: SupervisedProcess;
  readonly worker: SupervisedProcess;
  readonly gateway: SupervisedProcess;
  readonly rows: ReadRows;
  /** The machines that the engine has, regardless of the product's database. */
  machines(): Promise<readonly string[]>;
  readonly env: Readonly<Record<string, string>>;
  output(): string;
  close(): Promise<void>;
}

type Closers = (() => Promise<unknown>)[];

export async function openDrillStack(): Promise<DrillStack> {
  const closers: Closers = [];
  const close = async (): Promise<void> => {
    for (const step of closers.splice(0).toReversed()) await step();
  };
  try {
    return await open(closers, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function open(closers: Closers, close: () => Promise<void>): Promise<DrillStack> {
  const folder = mkdtempSync(path.join(tmpdir(), 'mr-'));
  chmodSync(folder, 0o755);
  closers.push(async () => rmSync(folder, { recursive: true, force: true }));
  closers.push(() => down([], { stateDir: path.join(folder, 'postgres'), purge: true }));
  const endpoints = await ensureUp(['postgres', 'valkey', 'nats', 'restate']);
  const postgres = await startBackedUpPostgres(folder);
  const database = await createTestDatabase({ postgresUrl: postgres.url });
  closers.push(() => database.db.close());
  // Machines are in another database, as those of a real engine are.
  const engine = await createTestDatabase();
  closers.push(() => engine.drop());
  // The engine's database has no organisations, only their ids.
  await createRowReader(engine)('alter table mock_machines drop constraint mock_machines_org_id_fkey');
  const valkey = await startValkeyServer();
  closers.push(() => valkey[Symbol.asyncDispose]());
  const stripe = await startStripeDouble();
  closers.push(() => stripe.close());
  const chat = await startChatDouble({ engine: 'vllm', tokens: [' flour', ' and', ' water'] });
  closers.push(() => chat.close());
  const names = testNames();
  const nats = await connectTestNats();
  closers.push(() => nats.close());
  const place = { database, names, endpoints: { ...endpoints, postgresUrl: postgres.url } };
  const firstAddress = `127.${randomInt(20, 120)}.${randomInt(1, 250)}.1`;
  const envOf = (role: Role): Record<string, string> => ({
    ...engineEnv(place, role),
    MILLRACE_POT_VALKEY_URL: valkey.url,
    MILLRACE_POT_OUTAGE_MS: '30000',
    MILLRACE_POT_LONGEST_REQUEST_MS: '60000',
    MILLRACE_RATE_LIMIT_DEFAULT_RPM: '1000000',
    MILLRACE_RATE_LIMIT_FUNDED_RPM: '1000000',
    MILLRACE_STRIPE_SECRET_KEY: stripe.settings.secretKey,
    MILLRACE_STRIPE_WEBHOOK_SECRET: stripe.settings.webhookSecret,
    MILLRACE_STRIPE_API_URL: stripe.settings.apiUrl,
    MILLRACE_CONSOLE_URL: 'https://console.example.com',
    MILLRACE_FLEET_READ_MS: '1000',
    MILLRACE_PROVIDERS: JSON.stringify([
      {
        id: 'mock',
        variant: 'mock',
        regions: [{ region: MOCK_REGION, customPorts: true }],
        clusters: [
          {
            name: 'mock',
            region: MOCK_REGION,
            settings: {
              firstAddress,
              databaseUrl: engine.url,
            },
          },
        ],
      },
    ]),
  });
  const [apiPort = 0, gatewayPort = 0, gatewayHealth = 0, workerHealth = 0, endpointPort = 0] =
    await freePorts(5);
  const apiUrl = `http://127.0.0.1:${apiPort}`;
  const workerUrl = `http://127.0.0.1:${workerHealth}`;
  const api = supervise({
    name: 'api',
    entry: 'apps/api/src/main.ts',
    readyUrl: `${apiUrl}/readyz`,
    env: { ...envOf('api'), MILLRACE_HTTP_PORT: String(apiPort) },
  });
  const worker = supervise({
    name: 'worker',
    entry: 'apps/worker/src/main.ts',
    readyUrl: `${workerUrl}/readyz`,
    env: {
      ...envOf('worker'),
      MILLRACE_WORKER_HEALTH_PORT: String(workerHealth),
      MILLRACE_RESTATE_ENDPOINT_PORT: String(endpointPort),
    },
  });
  const gateway = supervise({
    name: 'gateway',
    entry: 'apps/gateway/src/main.ts',
    readyUrl: `http://127.0.0.1:${gatewayHealth}/readyz`,
    env: {
      ...envOf('gateway'),
      MILLRACE_HTTP_PORT: String(gatewayPort),
      MILLRACE_GATEWAY_HEALTH_PORT: String(gatewayHealth),
    },
  });
  closers.push(() => unregisterDeploymentsAt(`http://127.0.0.1:${endpointPort}`));
  closers.push(() => Promise.all([gateway, api, worker].map((each) => each.kill())));
  await Promise.all([api.start(), worker.start()]);
  return {
    ...{
      apiUrl,
      gatewayUrl: `http://127.0.0.1:${gatewayPort}`,
      workerUrl,
      postgres,
      database,
      valkey,
      stripe,
    },
    ...{ chatAddress: chat.address, api, worker, gateway, env: envOf('admin'), close, nats },
    streams: {
      events: eventChannels(names.natsPrefix).stream,
      usage: usageSubjects(names.natsPrefix, 1).stream,
    },
    rows: createRowReader(database),
    machines: async () => {
      const found = await createRowReader(engine)<{ external_id: string }>(
        'select external_id from mock_machines where machine is not null order by external_id',
      );
      return found.map(({ external_id }) => external_id);
    },
    output: () => [api, worker, gateway].map((each) => `--- ${each.name}\n${each.output()}`).join('\n'),
  };
}
