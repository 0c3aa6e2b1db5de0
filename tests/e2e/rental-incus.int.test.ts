import { isKeyRejected, loginAndCountGpus, type SshTarget } from '@millrace/compute/readiness';
import { findingsOf, runAudit } from '@millrace/core/auditor';
import { eventually, fleetInvariantViolations, startStopwatch, scaledLimitMs } from '@millrace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stackSealer } from '../stack/core-stack.ts';
import { GPU_TYPE, openRentalStack, REGION, type RentalStack } from '../stack/rental-stack.ts';
import { insertPrice, rentalPath, seedTenant, type ApiResponse, type StackTenant } from '../stack/tenant.ts';

// Virtual machine rentals of the whole product on a real Incus cluster, through the public API.

let stack: RentalStack;
beforeAll(async () => {
  stack = await openRentalStack();
  await insertPrice(stack);
});
afterAll(() => stack.close());

const never = new AbortController().signal;

async function order(tenant: StackTenant, more: object = {}): Promise<number> {
  const request = { gpuCount: 1, gpuType: GPU_TYPE, region: REGION, ...more };
  const made = await tenant.call('POST', '/v2/alpha/on-demand/virtual-machine-rentals', { body: request });
  expect(made, JSON.stringify(made.json)).toMatchObject({ status: 200 });
  return made.json.id as number;
}

async function untilRunning(tenant: StackTenant, id: number): Promise<ApiResponse['json']> {
  return eventually({ what: 'Running', timeoutMs: 60_000 }, async () => {
    const { json } = await tenant.call('GET', rentalPath(id));
    if (json.status === 'Failed') throw new Error(JSON.stringify(json));
    return json.status === 'Running' ? json : undefined;
  });
}

function sshTargetOf(rental: ApiResponse['json']): Omit<SshTarget, 'privateKey'> {
  const [ssh] = rental.ssh as { host: string; port: number; user: string; hostKeyFingerprint: string }[];
  if (ssh === undefined) throw new Error('The rental has no SSH endpoint.');
  return { host: ssh.host, port: ssh.port, user: ssh.user, hostKey: ssh.hostKeyFingerprint };
}

/** Reads the readiness key from its row before it is deleted. */
async function platformKeyOf(id: number): Promise<string> {
  return eventually({ what: 'the readiness key', timeoutMs: 30_000 }, async () => {
    const [row] = await stack.rows<{ external_id: string; proof_key: string | null }>(
      `select external_id, proof_key from rental_machines join rentals on rentals.id = rental_id where wire_id = ${id}`,
    );
    if (row === undefined || row.proof_key === null) return undefined;
    const place = { table: 'rental_machines', column: 'proof_key', rowId: row.external_id } as const;
    const { privateKey } = JSON.parse(stackSealer.open(row.proof_key, place)) as { privateKey: string };
    return privateKey;
  });
}

async function end(tenant: StackTenant, id: number): Promise<ApiResponse> {
  const ended = await tenant.call('POST', '/v2/on-demand/virtual-machine-rentals/terminate', {
    body: { rentalId: id, reason: 'done' },
  });
  expect(ended.status).toBe(200);
  return ended;
}

test('the readiness key is rejected for every account once the rental is Running', async () => {
  const tenant = await seedTenant(stack, 100);
  const id = await order(tenant);
  const privateKey = await platformKeyOf(id);
  const target = sshTargetOf(await untilRunning(tenant, id));
  for (const user of [target.user, 'root']) {
    expect(await isKeyRejected({ ...target, user, privateKey }, never)).toBe('refused');
  }
  const asTenant = { ...target, privateKey: tenant.privateKey };
  expect(await loginAndCountGpus(asTenant, never)).toMatchObject({ outcome: 'in', gpuCount: 1 });
  await end(tenant, id);
});

test('user data that blocks SSH still starts, and billing starts with it', async () => {
  const tenant = await seedTenant(stack, 100);
  const userData = '#!/bin/sh\nrm -f /usr/sbin/dropbear\nkill -9 $(pidof dropbear)\n';
  const id = await order(tenant, { userData });
  const rental = await untilRunning(tenant, id);
  expect(rental.startedAt).not.toBeNull();
  const target = { ...sshTargetOf(rental), privateKey: tenant.privateKey };
  await eventually({ what: 'SSH to be blocked', timeoutMs: 10_000 }, async () => {
    return (await isKeyRejected(target, never)) === 'unreachable';
  });
  const { json: receipt } = await end(tenant, id);
  expect(BigInt(receipt.finalCost.nanoUsd)).toBeGreaterThan(0n);
});

test('a rental is created, reached by SSH, listed, charged and terminated, and no machine remains', async () => {
  const tenant = await seedTenant(stack, 100);
  const id = await order(tenant, { gpuCount: 2, name: 'first', customPorts: [8080] });
  const read = (): Promise<ApiResponse> => tenant.call('GET', rentalPath(id));
  const rental = await untilRunning(tenant, id);
  expect(rental.steps.map(({ name, status }: { name: string; status: string }) => [name, status])).toEqual([
    ['place', 'done'],
    ['create', 'done'],
    ['prove', 'done'],
    ['open', 'done'],
  ]);
  const target = { ...sshTargetOf(rental), privateKey: tenant.privateKey };
  expect(await loginAndCountGpus(target, never)).toMatchObject({ outcome: 'in', gpuCount: 2 });

  const list = await tenant.call('GET', '/v2/on-demand/virtual-machine-rentals');
  expect(list.json.items.map((item: { id: number }) => item.id)).toEqual([id]);
  const events = await tenant.call('GET', `${rentalPath(id)}/events`);
  expect(events.json.items.map((event: { type: string }) => event.type)).toEqual([
    'rental.pending',
    'rental.running',
  ]);

  const ended = await end(tenant, id);
  expect(ended).toMatchObject({ status: 200, json: { rentalId: id, status: 'Terminating' } });
  const stopwatch = startStopwatch();
  await eventually({ what: 'SSH to be cut', timeoutMs: 10_000 }, async () => {
    return (await isKeyRejected(target, never)) === 'unreachable';
  });
  expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(5_000));
  await eventually(
    { what: 'Terminated', timeoutMs: 60_000 },
    async () => (await read()).json.status === 'Terminated',
  );
  const owned = await stack.engine.listOwned(never);
  expect(owned.machines.filter(({ orgId }) => orgId === tenant.orgId)).toEqual([]);

  const ranMs = Date.parse(ended.json.billingStoppedAt) - Date.parse(rental.startedAt);
  const owed = (BigInt(ranMs) * 4_000_000_000n) / 3_600_000n;
  expect(ended.json.finalCost.nanoUsd).toBe(String(owed));
  const cost = await tenant.call('GET', `${rentalPath(id)}/cost`);
  expect(cost.json).toMatchObject({
    totalNanoUsd: String(owed),
    postedNanoUsd: String(owed),
    heldNanoUsd: '0',
  });
  const balance = await tenant.call('GET', '/v2/customer/balance');
  expect(balance.json).toMatchObject({ balanceNanoUsd: String(100_000_000_000n - owed), heldNanoUsd: '0' });

  const client = await stack.database.connect();
  expect(await fleetInvariantViolations(client)).toEqual([]);
  await client.end();
  const report = await runAudit(stack.database.db, { kind: 'full', whenBusy: 'unrecorded' });
  expect(report === null ? 'busy' : findingsOf(report, 'error')).toEqual([]);
});
