import path from 'node:path';
import type { Endpoints } from '@millrace/services';
import {
  engineEnv,
  freePorts,
  testNames,
  unregisterDeploymentsAt,
  type TestDatabase,
  type TestValkey,
} from '@millrace/testing';
import { mockProviders } from '../../stack/mock-stack.ts';
import { errorLines, supervise, type SupervisedProcess } from '../../stack/supervised-process.ts';

/** The api, the worker and the gateway of one checkout. */
export interface Version {
  readonly name: string;
  readonly apiUrl: string;
  readonly gatewayUrl: string;
  start(): Promise<void>;
  /** Graceful stop. Returns the exit codes. */
  stop(): Promise<readonly (number | null)[]>;
  errors(): readonly string[];
}

export interface Versions {
  readonly older: Version;
  readonly newer: Version;
  end(): Promise<void>;
}

export interface ProgramPlace {
  readonly database: TestDatabase;
  readonly valkey: TestValkey;
  readonly endpoints: Endpoints;
  readonly trusted: string;
  readonly receiver: string;
  readonly roots: { readonly older: string; readonly newer: string };
}

const UNLIMITED = '1000000';

/** Versions before 2026-11-18 logged these errors although nothing had failed. */
const falseAlarms = /Got abort error from connection|usage is gone that nobody has worked through/;

export async function programsOf(place: ProgramPlace): Promise<Versions> {
  const { database, valkey, endpoints, trusted, receiver, roots } = place;
  const env = {
    ...engineEnv({ database, names: testNames(), endpoints }, 'worker'),
    MILLRACE_POT_VALKEY_URL: valkey.url,
    MILLRACE_PROVIDERS: JSON.stringify(mockProviders()),
    MILLRACE_FLEET_READ_MS: '1000',
    MILLRACE_RATE_LIMIT_DEFAULT_RPM: UNLIMITED,
    MILLRACE_RATE_LIMIT_FUNDED_RPM: UNLIMITED,
    MILLRACE_RATE_LIMIT_PERSON_RPM: UNLIMITED,
    MILLRACE_WEBHOOK_ALLOWED_NETWORKS: `${receiver}/32`,
    NODE_EXTRA_CA_CERTS: trusted,
  };
  // Workers of both versions share one port and appear as one Restate deployment.
  const [endpointPort = 0] = await freePorts(1);
  const older = await versionOf('older', roots.older, env, endpointPort);
  const newer = await versionOf('newer', roots.newer, env, endpointPort);
  return {
    older,
    newer,
    end: async () => {
      await Promise.all([older.stop(), newer.stop()]);
      // Restate is shared, so it must not call workers that have ended.
      await unregisterDeploymentsAt(`http://127.0.0.1:${endpointPort}`);
    },
  };
}

async function versionOf(
  name: string,
  root: string,
  env: Readonly<Record<string, string>>,
  endpointPort: number,
): Promise<Version> {
  const [apiPort = 0, gatewayPort = 0, gatewayHealth = 0, workerHealth = 0] = await freePorts(4);
  const [apiUrl, gatewayUrl] = [`http://127.0.0.1:${apiPort}`, `http://127.0.0.1:${gatewayPort}`];
  const program = (kind: string, readyUrl: string, own: Record<string, string>): SupervisedProcess =>
    supervise({
      name: `${name} ${kind}`,
      entry: path.join(root, `apps/${kind}/src/main.ts`),
      readyUrl: `${readyUrl}/readyz`,
      env: { ...env, ...own },
    });
  const first = [
    program('api', apiUrl, { MILLRACE_HTTP_PORT: String(apiPort), MILLRACE_HTTP_PUBLIC_URL: apiUrl }),
    program('worker', `http://127.0.0.1:${workerHealth}`, {
      MILLRACE_WORKER_HEALTH_PORT: String(workerHealth),
      MILLRACE_RESTATE_ENDPOINT_PORT: String(endpointPort),
    }),
  ];
  const gateway = program('gateway', `http://127.0.0.1:${gatewayHealth}`, {
    MILLRACE_HTTP_PORT: String(gatewayPort),
    MILLRACE_GATEWAY_HEALTH_PORT: String(gatewayHealth),
  });
  const all = [gateway, ...first];
  return {
    name,
    apiUrl,
    gatewayUrl,
    start: async () => {
      await Promise.all(first.map((each) => each.start()));
      // A gateway is ready once a worker has filled the key feed.
      await gateway.start();
    },
    stop: () => Promise.all(all.filter((each) => each.pid() !== null).map((each) => each.stop())),
    errors: () =>
      all.flatMap((each) => errorLines(each)).filter((line) => name === 'newer' || !falseAlarms.test(line)),
  };
}
