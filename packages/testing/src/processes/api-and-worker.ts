import { readEndpoints, type Endpoints, type Role } from '@millrace/services';
import type { TestDatabase } from '../postgres/database.ts';
import type { TestNames } from '../names.ts';
import { unregisterDeploymentsAt } from '../messaging/engines.ts';
import { freePorts } from '../network/ports.ts';
import { startProcess, type TestProcess } from './processes.ts';
import { secureEngineEnv } from './secure-engine-env.ts';

export interface ProgramOptions {
  readonly database: Pick<TestDatabase, 'url'>;
  readonly names: Pick<TestNames, 'natsPrefix'>;
  readonly name?: string;
  /** Other engines than the shared ones, for a test that kills them. */
  readonly endpoints?: Endpoints;
  /** Overrides the variables below, for faults (a proxy in front of an engine) and settings under test. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The settings of the engines for a process with this role. */
export function engineEnv(
  options: Pick<ProgramOptions, 'database' | 'names' | 'endpoints'>,
  role: Role,
): Record<string, string> {
  const endpoints = options.endpoints ?? readEndpoints();
  return {
    MILLRACE_CELL: '1',
    MILLRACE_LOG_LEVEL: 'warn',
    MILLRACE_POSTGRES_URL: options.database.url,
    MILLRACE_VALKEY_URL: endpoints.valkeyUrl,
    MILLRACE_POT_VALKEY_URL: endpoints.valkeyUrl,
    MILLRACE_NATS_URLS: endpoints.natsUrls.join(','),
    MILLRACE_NATS_PREFIX: options.names.natsPrefix,
    // A stream reserves its maximum size on the server, and tests create many.
    MILLRACE_EVENT_STREAM_MAX_MIB: '64',
    MILLRACE_USAGE_STREAM_MAX_MIB: '64',
    MILLRACE_GATEWAY_BOOK_MAX_MIB: '32',
    MILLRACE_RESTATE_INGRESS_URL: endpoints.restate.ingressUrl,
    MILLRACE_RESTATE_ADMIN_URL: endpoints.restate.adminUrl,
    MILLRACE_RESTATE_IDENTITY_KEYS: endpoints.restate.identityPublicKey,
    MILLRACE_RESTATE_PREFIX: options.names.natsPrefix,
    MILLRACE_SEALING_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
    MILLRACE_SEALING_KEY_ACTIVE: 'test',
    MILLRACE_KEY_FEED_KEYS: `feed:${Buffer.alloc(32, 8).toString('base64')}`,
    ...(endpoints.secure === undefined
      ? {}
      : secureEngineEnv({ ...options, valkeyUrl: endpoints.valkeyUrl }, endpoints.secure, role)),
  };
}

export interface WorkerProcess extends TestProcess {
  readonly healthUrl: string;
  /** The port on which Restate calls it. */
  readonly endpointPort: number;
}

/** A worker as a separate process, ready when this resolves. */
export async function startWorkerProcess(options: ProgramOptions): Promise<WorkerProcess> {
  const [freeHealthPort, endpointPort = 0] = await freePorts(2);
  const healthPort = options.env?.['MILLRACE_WORKER_HEALTH_PORT'] ?? String(freeHealthPort);
  const healthUrl = `http://127.0.0.1:${healthPort}`;
  const started = await startProcess({
    name: options.name ?? 'worker',
    entry: 'apps/worker/src/main.ts',
    env: {
      ...engineEnv(options, 'worker'),
      MILLRACE_WORKER_HEALTH_PORT: healthPort,
      MILLRACE_RESTATE_ENDPOINT_PORT: String(endpointPort),
      ...options.env,
    },
    readyUrl: `${healthUrl}/readyz`,
  });
  // Restate is shared and would keep calling a deployment that no longer exists.
  const forgetting = async <T>(end: Promise<T>): Promise<T> => {
    const result = await end;
    await unregisterDeploymentsAt(`http://127.0.0.1:${endpointPort}`);
    return result;
  };
  return {
    ...started,
    healthUrl,
    endpointPort,
    crash: () => forgetting(started.crash()),
    stop: (graceMs) => forgetting(started.stop(graceMs)),
    [Symbol.asyncDispose]: () => forgetting(started.crash()),
  };
}

export interface ApiProcess extends TestProcess {
  readonly url: string;
}

/** An api as a separate process, ready when this resolves. Rate limits are disabled unless `env` sets them. */
export async function startApiProcess(options: ProgramOptions): Promise<ApiProcess> {
  const [free] = await freePorts(1);
  const port = options.env?.['MILLRACE_HTTP_PORT'] ?? String(free);
  const scheme = options.env?.['MILLRACE_HTTP_TLS_CERT_FILE'] === undefined ? 'http' : 'https';
  const url = `${scheme}://127.0.0.1:${port}`;
  const started = await startProcess({
    name: options.name ?? 'api',
    entry: 'apps/api/src/main.ts',
    env: {
      ...engineEnv(options, 'api'),
      MILLRACE_HTTP_PORT: port,
      MILLRACE_HTTP_PUBLIC_URL: url,
      MILLRACE_HTTP_VALIDATE_RESPONSES: 'true',
      MILLRACE_RATE_LIMIT_DEFAULT_RPM: '1000000',
      MILLRACE_RATE_LIMIT_PERSON_RPM: '1000000',
      ...options.env,
    },
    readyUrl: `${url}/readyz`,
  });
  return { ...started, url };
}
