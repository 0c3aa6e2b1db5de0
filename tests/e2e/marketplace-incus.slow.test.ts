import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { findingsOf, runAudit } from '@millrace/core/auditor';
import { eventually, fleetInvariantViolations, type SupplierHost } from '@millrace/testing';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { DOMAIN, openMarketplaceStack, REGION, type MarketplaceStack } from '../stack/marketplace-stack.ts';
import {
  putOnMarketplace,
  seedOperator,
  seedSupplier,
  type Call,
  type StackSupplier,
} from '../stack/supplier.ts';
import { seedTenant, type ApiResponse, type StackTenant } from '../stack/tenant.ts';

// Two suppliers with real Incus daemons and a tenant that uses only public interfaces.

let stack: MarketplaceStack;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'mr-ssh-'));
  stack = await openMarketplaceStack(2);
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await stack.close();
});
afterEach(async ({ task }) => {
  if (task.result?.state !== 'fail') return;
  const made = await stack.rows(`select status, status_reason, state, address, ports, last_error
    from rentals join rental_machines on rental_id = rentals.id`);
  process.stderr.write(`${stack.output().slice(-20_000)}\n${JSON.stringify(made)}\n`);
});

const run = promisify(execFile);

interface Machine {
  readonly id: string;
  readonly status: string;
  readonly gpus_total: number;
  readonly gpus_reserved: number;
  readonly pricing: { readonly price: { readonly amount: number } };
  readonly cluster_name: string;
  readonly supplier_id: string;
}

async function listMachines(question: object): Promise<Machine[]> {
  const response = await fetch(`${stack.apiUrl}/v1/marketplace`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(question),
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { instances: Machine[] }).instances;
}

async function theInstance(tenant: StackTenant): Promise<ApiResponse['json']> {
  const { json } = await tenant.call('GET', '/v1/marketplace/instances');
  return json.instances[0];
}

async function untilOnline(tenant: StackTenant): Promise<ApiResponse['json']> {
  return eventually({ what: 'the instance to be online', timeoutMs: 90_000 }, async () => {
    const found = await theInstance(tenant);
    return found?.instance.status === 'online' && found.sshCommand !== null ? found : undefined;
  });
}

/** Runs the SSH command in a shell, with the tenant's key. */
async function typeSsh(tenant: StackTenant, line: string, command: string): Promise<string> {
  const key = path.join(folder, 'id');
  writeFileSync(key, tenant.privateKey, { mode: 0o600 });
  const own = `-i ${key} -o IdentitiesOnly=yes -o UserKnownHostsFile=${folder}/known -o StrictHostKeyChecking=accept-new`;
  const { stdout } = await run('sh', [
    '-c',
    `${line} ${own} -o BatchMode=yes -o ConnectTimeout=3 '${command}'`,
  ]);
  return stdout.trim();
}

/** Queries the daemon as the host's administrator. */
function asOwner(host: SupplierHost, target: string): Promise<{ readonly metadata: unknown }> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath: host.socketPath, path: target }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
      response.once('end', () => resolve(JSON.parse(text) as { metadata: unknown }));
    });
    call.once('error', reject);
    call.end();
  });
}

async function sumOf(kind: string): Promise<bigint> {
  const [row] = await stack.rows<{ sum: string }>(
    `select coalesce(sum(balance_nano_usd), 0)::text as sum from ledger_accounts where kind = '${kind}'`,
  );
  return BigInt(row?.sum ?? 0);
}

async function earnedBy({ call }: StackSupplier): Promise<bigint> {
  const { json } = await call('GET', '/v2/supplier/earnings');
  return BigInt(json.payableNanoUsd) + BigInt(json.accruedNanoUsd);
}

const EXPENSIVE = 3_333_333_333n;
const CHEAP = 1_234_567_891n;
const PAGE = 'hello from the instance';
const userData = `#!/bin/sh\nmkdir -p /srv/www\necho '${PAGE}' > /srv/www/index.html\nhttpd -p 8080 -h /srv/www\n`;

async function offerBoth(operator: Call) {
  const [north, south] = await Promise.all([
    seedSupplier(stack, operator, { name: 'North', feePercentage: 12.5 }),
    seedSupplier(stack, operator, { name: 'South', feePercentage: 7.77 }),
  ]);
  const [one, other] = stack.hosts;
  if (one === undefined || other === undefined) throw new Error('The stack has fewer than two hosts.');
  const offers = await Promise.all([
    putOnMarketplace(stack, operator, {
      supplier: north,
      host: one,
      offer: { clusterName: 'north-1', pricePerGpuHour: EXPENSIVE },
    }),
    putOnMarketplace(stack, operator, {
      supplier: south,
      host: other,
      offer: { clusterName: 'south-1', pricePerGpuHour: CHEAP },
    }),
  ]);
  return { north, south, offers, host: other };
}

test('a tenant rents an instance of one of two suppliers, uses SSH and HTTPS, and pays exactly the earnings of the supplier plus the fee', async () => {
  const operator = await seedOperator(stack);
  const { north, south, offers, host } = await offerBoth(operator);
  const tenant = await seedTenant(stack, 100);

  const question = {
    filters: { gpu_model: 'H100', min_gpus_available: 2, max_price: 4, region: REGION, available: true },
    sort: [{ field: 'pricing.price.amount', dir: 'asc' }],
  };
  const found = await eventually({ what: 'both on the marketplace', timeoutMs: 10_000 }, async () => {
    const machines = await listMachines(question);
    return machines.length === 2 ? machines : undefined;
  });
  expect(found.map(({ cluster_name }) => cluster_name)).toEqual(['south-1', 'north-1']);
  expect(found.map(({ id }) => id).toSorted()).toEqual(offers.toSorted());
  const [cheap] = await listMachines({ filters: { ...question.filters, max_price: 2 } });
  expect(cheap).toMatchObject({
    status: 'node_ready',
    gpus_total: 8,
    gpus_reserved: 0,
    supplier_id: south.id,
    pricing: { price: { amount: 1.234567891 } },
  });

  const request = { cluster_name: cheap?.cluster_name, node_name: cheap?.id, gpu_count: 2 };
  const image = { name: 'ubuntu', tag: '24.04', port: 8080 };
  const body = { ...request, image, user_data: userData };
  const made = await tenant.call('POST', '/v1/marketplace/instances/create', { body });
  expect(made, JSON.stringify(made.json)).toMatchObject({ status: 200, json: { status: 'success' } });
  const name = made.json.instance_id as string;
  const online = await untilOnline(tenant);
  expect(online).toMatchObject({ id: name, instance: { gpu_count: 2, cluster_name: 'south-1' } });

  // The SSH command as printed works and shows the two rented GPUs.
  expect(online.sshCommand).toMatch(
    new RegExp(`^ssh ubuntu@${host.address.replaceAll('.', '\\.')} -p \\d+$`),
  );
  expect(await typeSsh(tenant, online.sshCommand, 'ls /dev/nvidia[0-9]* | wc -l')).toBe('2');

  const web = `8080-${name}.${DOMAIN}`;
  expect(online.portMappings).toEqual([{ domain: web, protocol: 'https', port: 8080 }]);
  const page = await eventually({ what: 'the page by its name', timeoutMs: 10_000 }, async () => {
    const response = await stack.caddy.get(web);
    return response.status === 200 ? response : undefined;
  });
  expect(page.body.trim()).toBe(PAGE);

  const [shown] = await eventually({ what: 'the sale to be listed', timeoutMs: 5_000 }, async () => {
    const machines = await listMachines({ filters: { id: cheap?.id } });
    return machines[0]?.gpus_reserved === 2 ? machines : undefined;
  });
  expect(shown).toMatchObject({ gpus_total: 8, gpus_reserved: 2 });

  const ended = await tenant.call('POST', '/v1/marketplace/instances/terminate', { body: { id: name } });
  expect(ended).toMatchObject({ status: 200, json: { status: 'success' } });
  await eventually({ what: 'the hostname to be removed', timeoutMs: 10_000 }, async () => {
    return (await stack.caddy.get(web)).status === 404;
  });
  await eventually({ what: 'SSH to be cut', timeoutMs: 10_000 }, async () => {
    return typeSsh(tenant, online.sshCommand, 'true').then(
      () => false,
      () => true,
    );
  });
  const history = await eventually({ what: 'the end', timeoutMs: 60_000 }, async () => {
    const { json } = await tenant.call('GET', '/v1/marketplace/instances/history');
    return json.instance_history.length === 1 ? json.instance_history : undefined;
  });
  expect(await theInstance(tenant)).toBeUndefined();

  // No instance is left on the host, neither the tenant's nor those of the enrolment tests.
  expect(await asOwner(host, '/1.0/instances?all-projects=true')).toMatchObject({ metadata: [] });

  const paid = BigInt(history[0].cost_nano_usd);
  expect(history).toMatchObject([{ instance_name: name, gpu_count: 2, price: { amount: 1.234567891 } }]);
  expect(paid).toBeGreaterThan(0n);
  const { json: balance } = await tenant.call('GET', '/billing/get_current_balance');
  expect(balance).toMatchObject({ balance_nano_usd: String(100_000_000_000n - paid), held_nano_usd: '0' });
  const earned = await earnedBy(south);
  expect(earned).toBeGreaterThan(0n);
  expect(await sumOf('supplier_payable')).toBe(earned);
  expect(earned + (await sumOf('platform_fee'))).toBe(paid);
  expect(await earnedBy(north)).toBe(0n);

  const client = await stack.database.connect();
  expect(await fleetInvariantViolations(client)).toEqual([]);
  await client.end();
  const report = await runAudit(stack.database.db, { kind: 'full', whenBusy: 'unrecorded' });
  expect(report === null ? 'busy' : findingsOf(report, 'error')).toEqual([]);
});
