import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { seedOrganisation } from '@millrace/core/fixture';
import { eventually, type SupplierHost } from '@millrace/testing';
import { REGION, type MarketplaceStack } from './marketplace-stack.ts';
import type { ApiResponse } from './tenant.ts';

/** The operator and suppliers of a marketplace. They use only the public API. */

export type Call = (method: string, path: string, body?: object) => Promise<ApiResponse>;

export function createSupplierCaller(apiUrl: string, key: string): Call {
  return async (method, path, body) => {
    const response = await fetch(apiUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return { status: response.status, json: text === '' ? undefined : JSON.parse(text) };
  };
}

export async function seedOperator(stack: Pick<MarketplaceStack, 'apiUrl' | 'database'>): Promise<Call> {
  const { owner } = await seedOrganisation(stack.database.db, { platformRole: 'operator' });
  return createSupplierCaller(stack.apiUrl, owner.key);
}

export interface StackSupplier {
  readonly id: string;
  readonly call: Call;
}

/** Applies as a supplier, gets approved, and creates a key with the supplier scopes. */
export async function seedSupplier(
  stack: MarketplaceStack,
  operator: Call,
  { name, feePercentage }: { readonly name: string; readonly feePercentage: number },
): Promise<StackSupplier> {
  const { owner } = await seedOrganisation(stack.database.db);
  const asOwner = createSupplierCaller(stack.apiUrl, owner.key);
  const { json: applied } = await asOwner('POST', '/v2/supplier/application', { name });
  const reason = 'We know them';
  await operator('POST', `/v2/admin/suppliers/${applied.id}/approve`, { feePercentage, reason });
  const scopes = ['supplier:read', 'supplier:write'];
  const { json: made } = await asOwner('POST', '/v2/api-keys', { name: 'hosts', scopes });
  return { id: applied.id as string, call: createSupplierCaller(stack.apiUrl, made.key as string) };
}

export interface OfferedMachine {
  readonly clusterName: string;
  readonly pricePerGpuHour: bigint;
}

/** Enrols a supplier's host, from the join token to the marketplace, and returns the machine's id. */
export async function putOnMarketplace(
  stack: MarketplaceStack,
  operator: Call,
  { supplier, host, offer }: { supplier: StackSupplier; host: SupplierHost; offer: OfferedMachine },
): Promise<string> {
  const { clusterName, pricePerGpuHour } = offer;
  const { json: token } = await supplier.call('POST', '/v2/supplier/join-tokens', {
    clusterName,
    region: REGION,
  });
  await join(stack, host, token.token as string);
  const enrolment = await eventually(
    { what: `${clusterName} to be enrolled`, timeoutMs: 90_000 },
    async () => {
      const { json } = await supplier.call('GET', '/v2/supplier/enrolments');
      const [found] = json.items as { stage: string; machineId: string | null }[];
      return found?.stage === 'enrolled' || found?.stage === 'refused' ? found : undefined;
    },
  );
  const { machineId } = enrolment;
  if (enrolment.stage === 'refused' || machineId === null) throw new Error(JSON.stringify(enrolment));
  const price = { pricePerGpuHourNanoUsd: String(pricePerGpuHour), listed: true };
  await supplier.call('PATCH', `/v2/supplier/machines/${machineId}`, price);
  await operator('POST', `/v2/admin/machines/${machineId}/approve`, { reason: 'It was tested' });
  return machineId;
}

const joinScript = fileURLToPath(new URL('../../deploy/supplier/join.sh', import.meta.url));
const run = promisify(execFile);

export async function join(stack: MarketplaceStack, host: SupplierHost, token: string): Promise<void> {
  const { port } = new URL(host.url);
  const image = `ubuntu-24.04=local:${host.sshImageAlias}`;
  const args = ['--url', stack.apiUrl, '--address', host.address, '--port', port, '--type', 'container'];
  args.push('--network', host.network, '--pool', host.storagePool, '--image', image);
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: process.env['HOME'] ?? '/root',
    INCUS_SOCKET: host.socketPath,
    MILLRACE_JOIN_TOKEN: token,
  };
  await run('sh', [joinScript, ...args], { env });
}
