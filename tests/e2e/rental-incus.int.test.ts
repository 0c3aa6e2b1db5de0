import { keyIsRefused, loginAndCount } from '@millrace/compute/proof';
import { findingsOf, runAudit } from '@millrace/core/auditor';
import { systemClock } from '@millrace/platform/clock';
import { eventually, fleetBreaks } from '@millrace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GPU_TYPE, openRentalStack, REGION, type RentalStack } from '../stack/rental-stack.ts';
import { plantPrice, rentalPath, seedTenant, type Answer } from '../stack/tenant.ts';

// The whole product on a real Incus cluster, through its public face alone.

let stack: RentalStack;
beforeAll(async () => {
  stack = await openRentalStack();
  await plantPrice(stack);
}, 300_000);
afterAll(() => stack.close(), 120_000);

const never = new AbortController().signal;

test('POST, Running, SSH with the tenant’s own key, list, events, cost, terminate, and nothing is left', async () => {
  const tenant = await seedTenant(stack, 100);
  const wish = { gpuCount: 2, gpuType: GPU_TYPE, region: REGION, name: 'first', customPorts: [8080] };
  const made = await tenant.call('POST', '/v2/alpha/on-demand/virtual-machine-rentals', { body: wish });
  expect(made, JSON.stringify(made.json)).toMatchObject({ status: 200 });
  const id = made.json.id as number;
  const read = (): Promise<Answer> => tenant.call('GET', rentalPath(id));
  await eventually({ what: 'Running', timeoutMs: 60_000 }, async () => {
    const { json } = await read();
    if (json.status === 'Failed') throw new Error(JSON.stringify(json));
    return json.status === 'Running';
  });
  const { json: rental } = await read();
  expect(rental.steps.map(({ name, status }: { name: string; status: string }) => [name, status])).toEqual([
    ['place', 'done'],
    ['create', 'done'],
    ['prove', 'done'],
    ['open', 'done'],
  ]);
  const [ssh] = rental.ssh as { host: string; port: number; user: string; hostKeyFingerprint: string }[];
  if (ssh === undefined) throw new Error('Nobody is told where to log in.');
  const target = { ...ssh, privateKey: tenant.privateKey, hostKey: ssh.hostKeyFingerprint };
  expect(await loginAndCount(target, never)).toMatchObject({ outcome: 'in', gpuCount: 2 });

  const list = await tenant.call('GET', '/v2/on-demand/virtual-machine-rentals');
  expect(list.json.items.map((item: { id: number }) => item.id)).toEqual([id]);
  const events = await tenant.call('GET', `${rentalPath(id)}/events`);
  expect(events.json.items.map((event: { type: string }) => event.type)).toEqual([
    'rental.pending',
    'rental.running',
  ]);

  const ended = await tenant.call('POST', '/v2/on-demand/virtual-machine-rentals/terminate', {
    body: { rentalId: id, reason: 'done' },
  });
  expect(ended).toMatchObject({ status: 200, json: { rentalId: id, status: 'Terminating' } });
  const acceptedMs = systemClock.monotonicMs();
  await eventually({ what: 'SSH to be cut', timeoutMs: 10_000 }, async () => {
    return (await keyIsRefused(target, never)) === 'unreachable';
  });
  expect(systemClock.monotonicMs() - acceptedMs).toBeLessThan(5_000);
  await eventually(
    { what: 'Terminated', timeoutMs: 60_000 },
    async () => (await read()).json.status === 'Terminated',
  );
  const owned = await stack.engine.listOwned(never);
  expect(owned.machines).toEqual([]);

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
  expect(await fleetBreaks(client)).toEqual([]);
  await client.end();
  const report = await runAudit(stack.database.db, { kind: 'full', whenBusy: 'unrecorded' });
  expect(report === null ? 'busy' : findingsOf(report, 'error')).toEqual([]);
}, 180_000);
