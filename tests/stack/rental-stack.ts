import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createIncusDriver } from '@millrace/compute/incus';
import type { ComputeDriver } from '@millrace/compute';
import { systemClock } from '@millrace/platform/clock';
import { createSealer } from '@millrace/platform/secrets';
import {
  down,
  ensureUp,
  killNode,
  startNode,
  stopNode,
  type Endpoints,
  type IncusClusterEndpoints,
} from '@millrace/services';
import {
  createTestDatabase,
  engineEnv,
  eventually,
  freePorts,
  testLog,
  testNames,
  type TestDatabase,
} from '@millrace/testing';
import { rowsOf, supervise, type ReadRows, type Supervised } from './supervised.ts';

/**
 * The product as it runs: api and workers as processes of their own, a Restate and a three-member Incus cluster that may
 * be killed because nobody else uses them, and the shared PostgreSQL, Valkey and NATS. Incus hosts have simulated GPUs.
 */

export const REGION = 'eu-west-1';
export const GPU_TYPE = 'h100';
/** What a GPU of the hosts costs where they are sold on the marketplace. */
const MARKET_GPU_HOUR_USD = 2;
const sealing = { id: 'stack', key: Buffer.alloc(32, 5) };
const SEALING_KEYS = `${sealing.id}:${sealing.key.toString('base64')}`;

/** Opens what the processes sealed: as one who has their keys could. */
export const stackSealer = createSealer({ keys: [sealing], activeId: sealing.id });

export interface StackOptions {
  readonly workers?: number;
  /** What the hosts are sold as; virtual machines unless said. */
  readonly offer?: 'virtual-machine' | 'marketplace';
  /** Over what processes are told. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface RentalStack {
  readonly apiUrl: string;
  readonly database: TestDatabase;
  readonly api: Supervised;
  readonly workers: readonly Supervised[];
  /** The hosts, and how to reach them without any of our processes. */
  readonly incus: IncusClusterEndpoints;
  /** What the cluster really has, without any of our processes. */
  readonly engine: ComputeDriver;
  killEngineNode(name: string): Promise<void>;
  startEngineNode(name: string): Promise<void>;
  /** Restate forgets everything that it ever knew. */
  wipeRestate(): Promise<void>;
  readonly rows: ReadRows;
  close(): Promise<void>;
}

export async function openRentalStack(options: StackOptions = {}): Promise<RentalStack> {
  const folder = mkdtempSync(path.join(tmpdir(), 'mr-'));
  chmodSync(folder, 0o755);
  const place = { stateDir: path.join(folder, 's'), portBase: 'auto' } as const;
  const closers: (() => Promise<unknown>)[] = [
    async () => rmSync(folder, { recursive: true, force: true }),
    () => down([], { stateDir: place.stateDir, purge: true }),
  ];
  const close = async (): Promise<void> => {
    for (const step of closers.toReversed()) await step();
  };
  try {
    await ensureUp(['postgres', 'valkey', 'nats']);
    const { restate } = await ensureUp(['restate'], place);
    const endpoints = await ensureUp(['incus'], { ...place, topology: 'cluster' });
    const database = await createTestDatabase();
    closers.push(() => database.drop());
    const engine = createIncusDriver({ ...reachOf(endpoints), clock: systemClock, log: testLog() });
    closers.push(() => engine.close());
    const [apiPort = 0, endpointPort = 0] = await freePorts(2);
    const env = {
      ...engineEnv({ database, names: testNames() }),
      ...restateEnv(restate),
      ...fleetEnv(folder, endpoints, options.offer ?? 'virtual-machine'),
      MILLRACE_SEALING_KEYS: SEALING_KEYS,
      MILLRACE_SEALING_KEY_ACTIVE: sealing.id,
      ...options.env,
    };
    const api = supervise({
      name: 'api',
      entry: 'apps/api/src/main.ts',
      readyUrl: `http://127.0.0.1:${apiPort}/readyz`,
      env: { ...env, MILLRACE_HTTP_PORT: String(apiPort), MILLRACE_RATE_LIMIT_DEFAULT_RPM: '1000000' },
    });
    const workers: Supervised[] = [];
    for (let nth = 1; nth <= (options.workers ?? 1); nth += 1) {
      const [healthPort = 0] = await freePorts(1);
      workers.push(
        supervise({
          name: `worker-${nth}`,
          entry: 'apps/worker/src/main.ts',
          readyUrl: `http://127.0.0.1:${healthPort}/readyz`,
          env: {
            ...env,
            MILLRACE_WORKER_HEALTH_PORT: String(healthPort),
            // All serve one address; the kernel deals calls out to those alive.
            MILLRACE_RESTATE_ENDPOINT_PORT: String(endpointPort),
          },
        }),
      );
    }
    closers.push(() => Promise.all([api, ...workers].map((each) => each.kill())));
    await Promise.all([api, ...workers].map((each) => each.start()));
    const rows = rowsOf(database);
    await eventually({ what: 'the fleet to be read', timeoutMs: 60_000 }, async () => {
      const [found] = await rows<{ gpus: number }>(
        'select coalesce(sum(gpus_free), 0)::int as gpus from node_capacity where placeable',
      );
      return (found?.gpus ?? 0) >= 24;
    });
    return {
      apiUrl: `http://127.0.0.1:${apiPort}`,
      database,
      api,
      workers,
      incus: clusterOf(endpoints),
      engine,
      killEngineNode: (name) => killNode(name, place),
      startEngineNode: (name) => startNode(name, place),
      wipeRestate: async () => {
        await stopNode('restate', place);
        rmSync(path.join(place.stateDir, 'restate', 'data'), { recursive: true });
        await startNode('restate', place);
      },
      rows,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function clusterOf({ incusCluster }: Endpoints): IncusClusterEndpoints {
  if (incusCluster === undefined) throw new Error('The Incus cluster has no endpoints.');
  return incusCluster;
}

function reachOf(endpoints: Endpoints) {
  const cluster = clusterOf(endpoints);
  return {
    endpoints: cluster.members.map(({ url }) => url),
    tls: {
      clientCertificate: readFileSync(cluster.clientCertificateFile, 'utf8'),
      clientKey: readFileSync(cluster.clientKeyFile, 'utf8'),
      serverCertificate: readFileSync(cluster.serverCertificateFile, 'utf8'),
    },
    instanceType: 'container' as const,
    network: cluster.network,
    storagePool: 'default',
    sshUser: 'ubuntu',
  };
}

function restateEnv(restate: Endpoints['restate']): Record<string, string> {
  return {
    MILLRACE_RESTATE_INGRESS_URL: restate.ingressUrl,
    MILLRACE_RESTATE_ADMIN_URL: restate.adminUrl,
    MILLRACE_RESTATE_IDENTITY_KEYS: restate.identityPublicKey,
    MILLRACE_RESTATE_REGISTER_MS: '1000',
  };
}

/** As an operator would write it: the cluster by its members, the credential by its files. */
function fleetEnv(
  folder: string,
  endpoints: Endpoints,
  offer: NonNullable<StackOptions['offer']>,
): Record<string, string> {
  const incus = clusterOf(endpoints);
  const credentials = path.join(folder, 'credentials.json');
  writeFileSync(
    credentials,
    JSON.stringify({
      lab: {
        certificateFile: incus.clientCertificateFile,
        keyFile: incus.clientKeyFile,
        serverCertificateFile: incus.serverCertificateFile,
      },
    }),
  );
  const cluster = {
    name: 'lab',
    region: REGION,
    endpoints: incus.members.map(({ url }) => url),
    credential: 'lab',
    offer,
    settings: {
      instanceType: 'container',
      network: incus.network,
      storagePool: 'default',
      defaultImage: incus.sshImageAlias,
      ...(offer === 'marketplace' ? { pricePerGpuHourUsd: MARKET_GPU_HOUR_USD } : {}),
    },
  };
  const regions = [{ region: REGION, customPorts: true }];
  return {
    MILLRACE_PROVIDERS: JSON.stringify([{ id: 'own', variant: 'V8', regions, clusters: [cluster] }]),
    MILLRACE_FLEET_CREDENTIALS_FILE: credentials,
    MILLRACE_FLEET_READ_MS: '1000',
  };
}
