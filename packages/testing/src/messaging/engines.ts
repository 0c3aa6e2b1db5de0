import { createLogger, type Logger } from '@millrace/platform/log';
import { connectNats, type NatsClient } from '@millrace/platform/nats';
import { readEndpoints, type Endpoints } from '@millrace/services';

/** Where the engines are; the global setup, or `ensureUp`, has started them. */
export function testEndpoints(): Endpoints {
  return readEndpoints();
}

/** Quiet unless something is wrong: a failing test shows what the code under test complained about. */
export function testLog(name = 'test'): Logger {
  return createLogger({ name, level: 'error' });
}

/** A connection of its own to the shared server; through `servers`, to a proxy in front of it. */
export function connectTestNats(
  options: { readonly name?: string; readonly servers?: readonly string[] } = {},
): Promise<NatsClient> {
  const name = options.name ?? 'test';
  return connectNats({
    servers: options.servers ?? readEndpoints().natsUrls,
    name,
    log: createLogger({ name, level: 'silent' }),
  });
}

/** Takes a test's services out of the shared Restate, with whatever is still under way on them. */
export async function unregisterDeployment(deploymentId: string): Promise<void> {
  const { adminUrl } = readEndpoints().restate;
  await killCallsTo(deploymentId);
  const response = await fetch(`${adminUrl}/deployments/${deploymentId}?force=true`, { method: 'DELETE' });
  if (!response.ok && response.status !== 404) {
    throw new Error(`Restate kept the deployment ${deploymentId}: it answered ${response.status}.`);
  }
}

/** A call that began there would be tried for ever, and whatever else concerns the same object would wait behind it. */
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

/** The same for whatever is registered at an address. */
export async function unregisterDeploymentsAt(url: string): Promise<void> {
  const response = await fetch(`${readEndpoints().restate.adminUrl}/deployments`);
  const { deployments } = (await response.json()) as { deployments: readonly { id: string; uri?: string }[] };
  const own = deployments.filter(({ uri }) => uri !== undefined && uri.replace(/\/$/, '') === url);
  for (const { id } of own) await unregisterDeployment(id);
}
