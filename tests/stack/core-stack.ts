import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ComputeDriver } from '@millrace/compute';
import { createSealer } from '@millrace/platform/secrets';
import { down, ensureUp, killNode, startNode, stopNode, type Endpoints, type Role } from '@millrace/services';
import {
  createTestDatabase,
  engineEnv,
  eventually,
  freePorts,
  testNames,
  type TestDatabase,
} from '@millrace/testing';
import { auditAndDrop, defaultLedgerAuditMode, closeAll, type LedgerAuditMode } from './ledger-audit.ts';
import { createRowReader, supervise, type ReadRows, type SupervisedProcess } from './supervised-process.ts';

/** The api and workers as processes, with a private Restate that may be killed and shared PostgreSQL, Valkey and NATS. */

export const GPU_TYPE = 'h100';
const sealing = { id: 'stack', key: Buffer.alloc(32, 5) };
const SEALING_KEYS = `${sealing.id}:${sealing.key.toString('base64')}`;

/** Decrypts secrets that the stack's processes sealed. */
export const stackSealer = createSealer({ keys: [sealing], activeId: sealing.id });

/** State folders of engines that only this stack uses. */
export interface StackDirs {
  readonly folder: string;
  readonly services: { readonly stateDir: string; readonly portBase: 'auto' };
}

/** The engine on which a stack creates its machines. */
export interface Hosts {
  /** Reads the engine directly, without any Millrace process. */
  readonly engine: ComputeDriver;
  /** A provider as an operator would configure it, and the credentials that it names. */
  readonly provider: object;
  readonly credentials: Readonly<Record<string, object>>;
  readonly gpuCount: number;
  /** Processes that can be killed individually: a host, or the engine. */
  readonly killableNodes: readonly string[];
  kill(name: string): Promise<void>;
  start(name: string): Promise<void>;
  close(): Promise<void>;
}

export interface CoreOptions {
  readonly workers?: number;
  /** Overrides the environment variables of all processes. */
  readonly env?: Readonly<Record<string, string>>;
  /** Credentials of additional engines, by name. */
  readonly credentials?: Readonly<Record<string, object>>;
  /** Audited when the stack is closed, unless the test inserts rows that the auditor would report. */
  readonly auditMode?: LedgerAuditMode;
}

export interface CoreStack extends AsyncDisposable {
  readonly apiUrl: string;
  readonly database: TestDatabase;
  readonly api: SupervisedProcess;
  readonly workers: readonly SupervisedProcess[];
  readonly engine: ComputeDriver;
  readonly gpuCount: number;
  readonly killableNodes: readonly string[];
  /** `restate` or one of `killableNodes`. */
  killEngineNode(name: string): Promise<void>;
  startEngineNode(name: string): Promise<void>;
  wipeRestate(): Promise<void>;
  readonly rows: ReadRows;
  /** Logs of api and workers, printed when a test fails. */
  output(): string;
  close(): Promise<void>;
}

export async function openCoreStack<H extends Hosts>(
  openHosts: (place: StackDirs) => Promise<H>,
  options: CoreOptions = {},
): Promise<{ readonly stack: CoreStack; readonly hosts: H }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'mr-'));
  chmodSync(folder, 0o755);
  const services = { stateDir: path.join(folder, 's'), portBase: 'auto' } as const;
  const closers: (() => Promise<unknown>)[] = [
    async () => rmSync(folder, { recursive: true, force: true }),
    () => down([], { stateDir: services.stateDir, purge: true }),
  ];
  let auditMode: LedgerAuditMode = 'planted';
  const close = (): Promise<void> => closeAll(closers);
  try {
    const endpoints = await endpointsWithOwnRestate(folder, services);
    const hosts = await openHosts({ folder, services });
    closers.push(() => hosts.close());
    const database = await createTestDatabase();
    closers.push(() => auditAndDrop(database, auditMode));
    const names = testNames();
    const envOf = (role: Role): Record<string, string> => ({
      ...engineEnv({ database, names, endpoints }, role),
      MILLRACE_RESTATE_REGISTER_MS: '1000',
      ...fleetEnv(folder, hosts, options),
      MILLRACE_SEALING_KEYS: SEALING_KEYS,
      MILLRACE_SEALING_KEY_ACTIVE: sealing.id,
      ...options.env,
    });
    const { apiUrl, api, workers } = await programsOf(envOf, options.workers ?? 1);
    closers.push(() => Promise.all([api, ...workers].map((each) => each.kill())));
    await Promise.all([api, ...workers].map((each) => each.start()));
    const rows = createRowReader(database);
    await waitForFleet(rows, hosts.gpuCount);
    auditMode = options.auditMode ?? defaultLedgerAuditMode;
    const { engine, gpuCount, killableNodes } = hosts;
    const isKillable = (name: string): boolean => killableNodes.includes(name);
    const stack = {
      ...{ apiUrl, database, api, workers, engine, gpuCount, killableNodes: killableNodes, rows, close },
      output: () => [api, ...workers].map(({ name, output }) => `--- ${name}\n${output()}`).join('\n'),
      [Symbol.asyncDispose]: close,
      killEngineNode: (name: string) => (isKillable(name) ? hosts.kill(name) : killNode(name, services)),
      startEngineNode: (name: string) => (isKillable(name) ? hosts.start(name) : startNode(name, services)),
      wipeRestate: async () => {
        await stopNode('restate', services);
        rmSync(path.join(services.stateDir, 'restate', 'data'), { recursive: true });
        await startNode('restate', services);
      },
    };
    return { stack, hosts };
  } catch (error) {
    await close();
    throw error;
  }
}

async function programsOf(
  envOf: (role: Role) => Readonly<Record<string, string>>,
  workerCount: number,
): Promise<Pick<CoreStack, 'apiUrl' | 'api' | 'workers'>> {
  const [apiPort = 0, endpointPort = 0, ...healthPorts] = await freePorts(2 + workerCount);
  const apiUrl = `http://127.0.0.1:${apiPort}`;
  const api = supervise({
    name: 'api',
    entry: 'apps/api/src/main.ts',
    readyUrl: `${apiUrl}/readyz`,
    env: {
      ...envOf('api'),
      MILLRACE_HTTP_PORT: String(apiPort),
      MILLRACE_HTTP_PUBLIC_URL: apiUrl,
      MILLRACE_RATE_LIMIT_DEFAULT_RPM: '1000000',
      MILLRACE_RATE_LIMIT_PERSON_RPM: '1000000',
    },
  });
  const workers = healthPorts.map((healthPort, index) =>
    supervise({
      name: `worker-${index + 1}`,
      entry: 'apps/worker/src/main.ts',
      readyUrl: `http://127.0.0.1:${healthPort}/readyz`,
      env: {
        ...envOf('worker'),
        MILLRACE_WORKER_HEALTH_PORT: String(healthPort),
        // All workers serve one port; the kernel distributes calls among the running ones.
        MILLRACE_RESTATE_ENDPOINT_PORT: String(endpointPort),
      },
    }),
  );
  return { apiUrl, api, workers };
}

async function waitForFleet(rows: ReadRows, gpuCount: number): Promise<void> {
  await eventually({ what: 'the fleet to be read', timeoutMs: 60_000 }, async () => {
    const [found] = await rows<{ gpus: number }>(
      'select coalesce(sum(gpus_free), 0)::int as gpus from node_capacity where placeable',
    );
    return (found?.gpus ?? 0) >= gpuCount;
  });
}

/** The shared engines with a private Restate in the same mode. */
async function endpointsWithOwnRestate(folder: string, services: StackDirs['services']): Promise<Endpoints> {
  const shared = await ensureUp(['postgres', 'valkey', 'nats']);
  const own = await ensureUp(['restate'], { ...services, secure: shared.secure !== undefined });
  const endpoints = { ...shared, restate: own.restate };
  if (shared.secure === undefined || own.secure === undefined) return endpoints;
  // Each state folder has an authority of its own.
  const caFile = path.join(folder, 'ca.pem');
  writeFileSync(
    caFile,
    [shared, own].map(({ secure }) => readFileSync(secure?.caFile ?? '', 'utf8')).join(''),
  );
  return { ...endpoints, secure: { ...shared.secure, restate: own.secure.restate, caFile } };
}

function fleetEnv(folder: string, hosts: Hosts, options: CoreOptions): Record<string, string> {
  const credentials = path.join(folder, 'credentials.json');
  writeFileSync(credentials, JSON.stringify({ ...hosts.credentials, ...options.credentials }));
  return {
    MILLRACE_PROVIDERS: JSON.stringify([hosts.provider]),
    MILLRACE_FLEET_CREDENTIALS_FILE: credentials,
    MILLRACE_FLEET_READ_MS: '1000',
  };
}
