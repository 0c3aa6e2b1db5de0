import { randomInt } from 'node:crypto';
import { seedOrganisation, type SeededOrganisation } from '@millrace/core/fixture';
import {
  createTestDatabase,
  engineEnv,
  eventually,
  freePorts,
  startApiProcess,
  startProcess,
  startWorkerProcess,
  testNames,
  type TestDatabase,
  type TestProcess,
} from '@millrace/testing';
import { auditAndDrop, defaultLedgerAuditMode, closeAll, type LedgerAuditMode } from './ledger-audit.ts';

/** The whole product as processes with mock machines, marketplace and models, for client tests that need no particular engine. */

export interface MockStack extends AsyncDisposable {
  readonly apiUrl: string;
  readonly gatewayUrl: string;
  readonly database: TestDatabase;
  readonly organisation: SeededOrganisation;
  /** Key of the organisation's owner; everything it uses is free. */
  readonly testKey: string;
  readonly liveKey: string;
  readonly operatorKey: string;
  /** Logs of all processes, printed when a test fails. */
  output(): string;
}

export const MOCK_REGION = 'mock-region';
export const MOCK_MODEL = 'millrace-tiny';

export interface MockStackOptions {
  /** Default true. */
  readonly gateway?: boolean;
  /** Overrides the environment variables of all processes. */
  readonly env?: Readonly<Record<string, string>>;
  /** Audited when the stack is closed, unless the test inserts rows that the auditor would report. */
  readonly auditMode?: LedgerAuditMode;
}

export async function openMockStack(options: MockStackOptions = {}): Promise<MockStack> {
  const { gateway = true } = options;
  const database = await createTestDatabase();
  const names = testNames();
  const [port = 0, healthPort = 0, apiPort = 0] = await freePorts(3);
  const gatewayUrl = `http://127.0.0.1:${port}`;
  const env = {
    MILLRACE_INFERENCE_PUBLIC_URL: gatewayUrl,
    MILLRACE_PROVIDERS: JSON.stringify(mockProviders()),
    MILLRACE_FLEET_READ_MS: '1000',
    ...options.env,
  };
  const startGateway = (): Promise<TestProcess> =>
    startProcess({
      name: 'gateway',
      entry: 'apps/gateway/src/main.ts',
      env: {
        ...engineEnv({ database, names }, 'gateway'),
        MILLRACE_HTTP_PORT: String(port),
        MILLRACE_GATEWAY_HEALTH_PORT: String(healthPort),
        MILLRACE_RATE_LIMIT_DEFAULT_RPM: '1000000',
        // The console's playground calls the gateway from the browser.
        MILLRACE_CONSOLE_ORIGINS: `http://127.0.0.1:${apiPort}`,
        ...options.env,
      },
      readyUrl: `http://127.0.0.1:${healthPort}/readyz`,
    });
  const [api, worker, ...programs] = await Promise.all([
    startApiProcess({ database, names, env: { ...env, MILLRACE_HTTP_PORT: String(apiPort) } }),
    startWorkerProcess({ database, names, env }),
    ...(gateway ? [startGateway()] : []),
  ]);
  const organisation = await seedOrganisation(database.db, { supplies: true });
  const operator = await seedOrganisation(database.db, { platformRole: 'operator' });
  await addModel(api.url, operator.owner.key);
  const { key: testKey } = await organisation.ownerKey('test');
  await waitForMachines(api.url, testKey);
  return {
    apiUrl: api.url,
    gatewayUrl,
    database,
    organisation,
    testKey,
    liveKey: organisation.owner.key,
    operatorKey: operator.owner.key,
    output: () => [api, worker, ...programs].map((each) => `--- ${each.name}\n${each.output()}`).join('\n'),
    [Symbol.asyncDispose]: () =>
      closeAll([
        () => auditAndDrop(database, options.auditMode ?? defaultLedgerAuditMode),
        () => Promise.all([worker.stop(), api.stop()]),
        () => Promise.all(programs.map((each) => each.stop())),
      ]),
  };
}

/** Mock machines and marketplace on random loopback addresses, so that concurrent tests on this host can open the same ports. */
export function mockProviders(metalRegion?: string): readonly object[] {
  const block = `127.${randomInt(20, 120)}.${randomInt(1, 250)}`;
  const region = MOCK_REGION;
  const clusters = [
    { name: 'mock', region, settings: { firstAddress: `${block}.1` } },
    {
      name: 'mock-market',
      region,
      offer: 'marketplace',
      settings: { firstAddress: `${block}.101`, pricePerGpuHourUsd: 1.5 },
    },
  ];
  const metal = {
    name: 'mock-metal',
    region: metalRegion,
    offer: 'bare-metal',
    connectionType: 'infiniband',
    settings: { firstAddress: `${block}.201` },
  };
  return [
    {
      id: 'mock',
      variant: 'mock',
      regions: [
        { region, customPorts: true },
        ...(metalRegion === undefined ? [] : [{ region: metalRegion, customPorts: false }]),
      ],
      clusters: metalRegion === undefined ? clusters : [...clusters, metal],
    },
  ];
}

/** Creates a model without deployments: requests with a test key get mock completions. */
async function addModel(apiUrl: string, operatorKey: string): Promise<void> {
  const response = await fetch(`${apiUrl}/v2/admin/models`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: MOCK_MODEL,
      modality: 'chat',
      contextLength: 4096,
      maxOutputTokens: 1024,
      ownedBy: 'millrace',
    }),
  });
  if (response.status !== 201) throw new Error(`Creating the model failed: ${await response.text()}`);
}

async function waitForMachines(apiUrl: string, key: string): Promise<void> {
  await eventually({ what: 'the mock fleet to have free machines', timeoutMs: 300_000 }, async () => {
    const response = await fetch(`${apiUrl}/v2/on-demand/rental-options`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const { items } = (await response.json()) as { items: readonly { totalAvailable: number }[] };
    return items.some(({ totalAvailable }) => totalAvailable > 0);
  });
}
