import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { down, ensureUp, killNode, startNode, type Endpoints, type Role } from '@millrace/services';
import {
  createTestDatabase,
  engineEnv,
  freePorts,
  startLlama,
  startValkeyServer,
  testNames,
  valkeyUrlFor,
  type LlamaSettings,
  type TestDatabase,
  type TestLlama,
  type TestValkey,
} from '@millrace/testing';
import { auditAndDrop, defaultLedgerAuditMode, closeAll, type LedgerAuditMode } from './ledger-audit.ts';
import { preparePublicProxy, type ProxyKind, type PublicProxy } from './public-proxy.ts';
import { preparePrivateServers } from './private-servers.ts';
import { createRowReader, supervise, type ReadRows, type SupervisedProcess } from './supervised-process.ts';

/**
 * The inference product as processes: api, workers and gateways (all on one port), real llama-servers, and a Valkey for credit
 * leases. If the engines require TLS and credentials, so do the llama-servers.
 */

export interface InferenceStackOptions {
  readonly gateways?: number;
  readonly workers?: number;
  readonly llamas?: readonly LlamaSettings[];
  /** Default: the shared ones. All others are private; `killable` ones have three NATS nodes. */
  readonly engines?: 'shared' | 'killable' | 'secure' | 'plaintext';
  readonly media?: boolean;
  /** Default: a new one on the PostgreSQL of `engines`. It is dropped with the stack. */
  readonly database?: TestDatabase;
  /** Two apis and two gateways behind one address. */
  readonly proxy?: ProxyKind;
  /** The first release of all processes. Default: the programs that all tests start. */
  readonly releaseFolder?: string | null;
  /** Overrides the environment variables of all processes. */
  readonly env?: Readonly<Record<string, string>>;
  /** Environment variables of gateways only. They override the others. */
  readonly gatewayEnv?: Readonly<Record<string, string>>;
  /** The same for apis. */
  readonly apiEnv?: Readonly<Record<string, string>>;
  /** Serves metrics on a port of each process, which is in its environment. Default false. */
  readonly metrics?: boolean;
  /** Audited when the stack is closed, unless the test inserts rows that the auditor would report. */
  readonly auditMode?: LedgerAuditMode;
}

export interface InferenceStack {
  /** The address of the proxy, or of the only api. */
  readonly apiUrl: string;
  /** The address of the proxy, or the port that all running gateways share. */
  readonly gatewayUrl: string;
  readonly proxy: PublicProxy | null;
  readonly database: TestDatabase;
  readonly endpoints: Endpoints;
  readonly natsPrefix: string;
  readonly apis: readonly SupervisedProcess[];
  readonly workers: readonly SupervisedProcess[];
  readonly gateways: readonly SupervisedProcess[];
  readonly llamas: readonly TestLlama[];
  /** The state folder of private engines. */
  stateDir(): string;
  /** Holds the credit leases. */
  readonly valkey: TestValkey;
  /** `postgres` or `nats-1` to `nats-3`. Throws unless `engines` is `killable`. */
  killEngineNode(name: string): Promise<void>;
  startEngineNode(name: string): Promise<void>;
  /** Started last, because gateways need a filled key feed. */
  startGateways(): Promise<void>;
  readonly rows: ReadRows;
  /** Logs of all processes, printed when a test fails. */
  output(): string;
  close(): Promise<void>;
}

type Closers = (() => Promise<unknown>)[];

const mediaEngines = ['images', 'speech'];
const UNLIMITED = '1000000';

export async function openInferenceStack(options: InferenceStackOptions = {}): Promise<InferenceStack> {
  const closers: Closers = [];
  const close = async (): Promise<void> => {
    await closeAll(closers.splice(0));
  };
  try {
    return await open(options, closers, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function open(
  options: InferenceStackOptions,
  closers: Closers,
  close: () => Promise<void>,
): Promise<InferenceStack> {
  const { endpoints, privateSite } = await startEngines(options, closers);
  const database = options.database ?? (await createTestDatabase({ postgresUrl: endpoints.postgresUrl }));
  let auditMode: LedgerAuditMode = 'planted';
  closers.push(() => auditAndDrop(database, auditMode));
  const { secure } = endpoints;
  const servers = secure === undefined ? null : await preparePrivateServers(secure, endpoints.valkeyUrl);
  if (servers !== null) closers.push(async () => servers.remove());
  const valkey = await (servers?.startValkey() ?? startValkeyServer());
  closers.push(() => valkey[Symbol.asyncDispose]());
  const llamas: TestLlama[] = [];
  for (const [nth, settings] of (options.llamas ?? [{}]).entries()) {
    const llama = await startLlama({
      name: `llama-${nth + 1}`,
      ...(servers === null ? {} : { tls: servers }),
      ...settings,
    });
    llamas.push(llama);
    closers.push(() => llama[Symbol.asyncDispose]());
  }
  const names = testNames();
  const privateServersEnv = (role: Role): Record<string, string> => {
    if (secure === undefined || servers === null || role === 'admin') {
      return { MILLRACE_POT_VALKEY_URL: valkey.url };
    }
    return {
      MILLRACE_POT_VALKEY_URL: valkeyUrlFor(valkey.url, secure.valkey[role]),
      MILLRACE_ENGINE_CA_FILE: servers.caFile,
      NODE_EXTRA_CA_CERTS: servers.certificateFile,
    };
  };
  const envOf = (role: Role): Record<string, string> => ({
    ...engineEnv({ database, names, endpoints }, role),
    ...privateServersEnv(role),
    MILLRACE_NATS_REPLICAS: options.engines === 'killable' ? '3' : '1',
    MILLRACE_RATE_LIMIT_DEFAULT_RPM: UNLIMITED,
    MILLRACE_RATE_LIMIT_FUNDED_RPM: UNLIMITED,
    ...options.env,
  });
  const proxy = options.proxy === undefined ? null : await preparePublicProxy(options.proxy);
  if (proxy !== null) closers.push(async () => proxy[Symbol.asyncDispose]());
  const programs = await programsOf(envOf, options, proxy);
  const { apis, workers, gateways } = programs;
  closers.push(() => Promise.all([...gateways, ...apis, ...workers].map((each) => each.kill())));
  await Promise.all([...apis, ...workers].map((each) => each.start()));
  await proxy?.start();
  auditMode = options.auditMode ?? defaultLedgerAuditMode;
  const privateFolder = (): { readonly stateDir: string } => {
    if (privateSite === null)
      throw new Error('The engines of this stack are shared and must not be changed.');
    return privateSite;
  };
  return {
    ...programs,
    proxy,
    database,
    endpoints,
    natsPrefix: names.natsPrefix,
    llamas,
    valkey,
    stateDir: () => privateFolder().stateDir,
    killEngineNode: (name) => killNode(name, privateFolder()),
    startEngineNode: (name) => startNode(name, privateFolder()),
    startGateways: async () => {
      await Promise.all(gateways.map((each) => each.start()));
    },
    rows: createRowReader(database),
    output: () =>
      [...apis, ...workers, ...gateways].map((each) => `--- ${each.name}\n${each.output()}`).join('\n') +
      (proxy === null ? '' : `\n--- proxy\n${proxy.output()}`),
    close,
  };
}

async function startEngines(
  { engines = 'shared', media = false }: InferenceStackOptions,
  closers: Closers,
): Promise<{ readonly endpoints: Endpoints; readonly privateSite: { readonly stateDir: string } | null }> {
  const wanted = ['postgres', 'valkey', 'nats', 'restate', ...(media ? mediaEngines : [])];
  if (engines === 'shared') return { endpoints: await ensureUp(wanted), privateSite: null };
  const folder = mkdtempSync(path.join(tmpdir(), 'mr-'));
  chmodSync(folder, 0o755);
  const stateDir = path.join(folder, 's');
  const privateSite = { stateDir, portBase: 'auto', secure: engines === 'secure' } as const;
  closers.push(async () => rmSync(folder, { recursive: true, force: true }));
  closers.push(() => down([], { stateDir, purge: true }));
  if (engines !== 'killable')
    return { endpoints: await ensureUp(wanted, privateSite), privateSite: { stateDir } };
  const others = await ensureUp(
    wanted.filter((name) => name !== 'nats'),
    privateSite,
  );
  const { natsUrls } = await ensureUp(['nats'], { ...privateSite, topology: 'cluster' });
  return { endpoints: { ...others, natsUrls }, privateSite: { stateDir } };
}

async function programsOf(
  envOf: (role: Role) => Readonly<Record<string, string>>,
  options: InferenceStackOptions,
  proxy: PublicProxy | null,
): Promise<Pick<InferenceStack, 'apiUrl' | 'gatewayUrl' | 'apis' | 'workers' | 'gateways'>> {
  const [apiPort = 0, endpointPort = 0, gatewayPort = 0] = await freePorts(3);
  const { releaseFolder } = options;
  const release = releaseFolder === undefined ? {} : { releaseFolder };
  const metricsEnv = async (): Promise<Record<string, string>> => {
    const [port = 0] = options.metrics === true ? await freePorts(1) : [];
    return port === 0 ? {} : { MILLRACE_PROMETHEUS_PORT: String(port) };
  };
  const program = async (kind: 'worker' | 'gateway', nth: number, own: Record<string, string>) => {
    const [healthPort = 0] = await freePorts(1);
    return supervise({
      ...release,
      name: `${kind}-${nth + 1}`,
      entry: `apps/${kind}/src/main.ts`,
      readyUrl: `http://127.0.0.1:${healthPort}/readyz`,
      env: {
        ...envOf(kind),
        ...(await metricsEnv()),
        [`MILLRACE_${kind.toUpperCase()}_HEALTH_PORT`]: String(healthPort),
        ...own,
      },
    });
  };
  const several = <T>(count: number, make: (nth: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, (_, nth) => make(nth)));
  const alone = {
    name: 'api',
    url: `http://127.0.0.1:${apiPort}`,
    env: { MILLRACE_HTTP_PORT: String(apiPort) },
  };
  const apiMetricsEnv = await Promise.all((proxy?.apis ?? [alone]).map(metricsEnv));
  const apis = (proxy?.apis ?? [alone]).map(({ name, url, env: own }, nth) =>
    supervise({
      ...release,
      name,
      entry: 'apps/api/src/main.ts',
      readyUrl: `${url}/readyz`,
      env: {
        ...envOf('api'),
        ...apiMetricsEnv[nth],
        MILLRACE_HTTP_VALIDATE_RESPONSES: 'true',
        ...own,
        ...options.apiEnv,
      },
    }),
  );
  // Workers share one port and gateways another; the kernel distributes connections among the running ones.
  const workers = await several(options.workers ?? 1, (nth) =>
    program('worker', nth, { MILLRACE_RESTATE_ENDPOINT_PORT: String(endpointPort) }),
  );
  const shared = { MILLRACE_HTTP_PORT: String(gatewayPort) };
  const gateways = await several(proxy?.gateways.length ?? options.gateways ?? 1, (nth) =>
    program('gateway', nth, { ...(proxy?.gateways[nth]?.env ?? shared), ...options.gatewayEnv }),
  );
  const gatewayUrl = proxy?.url ?? `http://127.0.0.1:${gatewayPort}`;
  return { apiUrl: proxy?.url ?? alone.url, gatewayUrl, apis, workers, gateways };
}
