import { readFileSync } from 'node:fs';
import { createLogger, type Logger } from '@millrace/platform/log';
import { connectNats, type NatsClient, type NatsOptions } from '@millrace/platform/nats';
import type { ValkeyOptions } from '@millrace/platform/valkey';
import { issueNatsCredentials, readEndpoints, type Endpoints } from '@millrace/services';

/** The endpoints of the engines, which the global setup or `ensureUp` has started. */
export function testEndpoints(): Endpoints {
  return readEndpoints();
}

/** Logs only errors, so that a failing test shows those of the code under test. */
export function testLog(name = 'test'): Logger {
  return createLogger({ name, level: 'error' });
}

/** Options of NATS clients for tests: all subjects of the shared server, also if it requires TLS and credentials. */
export function natsAccess(): Pick<NatsOptions, 'ca' | 'credentials'> {
  const { secure } = readEndpoints();
  if (secure === undefined) return {};
  return {
    ca: readFileSync(secure.caFile, 'utf8'),
    credentials: issueNatsCredentials(secure.nats.accountSeed, 'test', null),
  };
}

/** Options of Valkey clients for tests: all keys of the shared server, also if it requires TLS and a user. */
export function valkeyAccess(): Pick<ValkeyOptions, 'url' | 'ca'> {
  const { secure, valkeyUrl: url } = readEndpoints();
  return secure === undefined ? { url } : { url, ca: readFileSync(secure.caFile, 'utf8') };
}

/** A new connection to the shared server, or to `servers`, such as a proxy. */
export function connectTestNats(
  options: { readonly name?: string; readonly servers?: readonly string[] } = {},
): Promise<NatsClient> {
  const name = options.name ?? 'test';
  return connectNats({
    servers: options.servers ?? readEndpoints().natsUrls,
    ...natsAccess(),
    name,
    log: createLogger({ name, level: 'silent' }),
  });
}

/** Removes a test's services from the shared Restate, including calls in progress. */
export async function unregisterDeployment(deploymentId: string): Promise<void> {
  const { adminUrl } = readEndpoints().restate;
  await killCallsTo(deploymentId);
  const response = await fetch(`${adminUrl}/deployments/${deploymentId}?force=true`, { method: 'DELETE' });
  if (!response.ok && response.status !== 404) {
    throw new Error(`Restate did not remove the deployment ${deploymentId}: status ${response.status}.`);
  }
}

/** A call that started there would be retried forever and block other calls of the same object. */
async function killCallsTo(deploymentId: string): Promise<void> {
  const { adminUrl } = readEndpoints().restate;
  const query = `select id from sys_invocation where pinned_deployment_id = '${deploymentId}' and status <> 'completed'`;
  const response = await fetch(`${adminUrl}/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ query }),
  });
  const { rows } = (await response.json()) as { rows: readonly { id: string }[] };
  for (const { id } of rows) await fetch(`${adminUrl}/invocations/${id}/kill`, { method: 'PATCH' });
}

/** Removes all services registered at an address, with or without TLS. */
export async function unregisterDeploymentsAt(url: string): Promise<void> {
  const response = await fetch(`${readEndpoints().restate.adminUrl}/deployments`);
  const { deployments } = (await response.json()) as { deployments: readonly { id: string; uri?: string }[] };
  const own = deployments.filter(
    ({ uri = '' }) =>
      uri
        .replace(/^https:/, 'http:')
        .replace(/\/$/, '')
        .split('/release/')[0] === url,
  );
  for (const { id } of own) await unregisterDeployment(id);
}
