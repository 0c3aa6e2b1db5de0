import { createHash } from 'node:crypto';
import { createIronicDriver } from '@millrace/compute/ironic';
import { isKeyRejected, loginAndCountGpus } from '@millrace/compute/readiness';
import { transitionNode } from '@millrace/core/fleet';
import { systemClock } from '@millrace/platform/clock';
import type { ProviderSetting } from '@millrace/platform/config';
import { toUuid } from '@millrace/platform/ids';
import {
  enrolRedfish,
  readNode,
  startBareMetalFarm,
  startIronic,
  waitForNodeState,
  type BareMetalFarm,
  type EmulatedMachine,
  type MachineFaults,
  type TestIronic,
} from '@millrace/testing';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { reconcileUntil } from '../../packages/core/src/rentals/reconcile/reconcile.fixture.ts';
import { terminateRental } from '../../packages/core/src/rentals/actions/termination.service.ts';
import { listMachines } from '../../packages/core/src/rentals/model/machines.store.ts';
import {
  createRentalHarness,
  type RentalHarness,
  type Tenant,
} from '../../packages/core/src/rentals/model/rental.fixture.ts';
import {
  causeOfRental,
  type Rental,
  type RentalMachine,
} from '../../packages/core/src/rentals/model/rental.ts';

// Bare-metal rentals on a real Ironic with its Redfish driver and emulated machines. Four nodes on one fabric, rented in pairs: a
// pair that fails leaves one other pair.

const region = 'eu-west-3';
const engineLimits = {
  conductor: {
    check_provision_state_interval: 1,
    deploy_callback_timeout: 10,
    clean_callback_timeout: 10,
    power_state_change_timeout: 5,
  },
  agent: { post_deploy_get_power_state_retry_interval: 1 },
  redfish: { connection_attempts: 1 },
};
const image = Buffer.from('No machine boots this image: machines are emulated.');
const never = new AbortController().signal;

let ironic: TestIronic;
let farm: BareMetalFarm;
let harness: RentalHarness;
let tenant: Tenant;
/** By node name in Ironic and in the inventory. */
const machines = new Map<string, EmulatedMachine>();

function providerOf(endpoint: string): ProviderSetting {
  const cluster = {
    name: 'ironic',
    region,
    endpoint,
    offer: 'bare-metal',
    connectionType: 'infiniband',
    credential: null,
    ports: { first: 20_000, last: 29_999 },
    settings: { defaultImage: 'ubuntu-24.04' },
  } as const;
  return {
    id: 'provider-v2',
    variant: 'V2',
    driver: 'ironic',
    regions: [{ region, customPorts: false }],
    clusters: [cluster],
  };
}

beforeAll(async () => {
  [ironic, farm] = await Promise.all([startIronic({ conf: engineLimits }), startBareMetalFarm({ count: 4 })]);
  const url = await ironic.publish('image.raw', image);
  const value = createHash('sha256').update(image).digest('hex');
  const driver = createIronicDriver({
    endpoint: ironic.url,
    credential: { username: ironic.username, password: ironic.password, serverCertificate: null },
    clock: systemClock,
    pollMs: 200,
    images: {
      'ubuntu-24.04': { url, hash: { algorithm: 'sha256', value }, diskFormat: 'raw', sshUser: 'ubuntu' },
    },
  });
  await Promise.all(
    farm.machines.map(async (machine) => {
      machines.set(await enrolRedfish(ironic, machine, { isCleaned: false, fabric: 'ib-1' }), machine);
    }),
  );
  const more = [providerOf(ironic.url)];
  harness = await createRentalHarness({
    lookEveryMs: 0,
    portListeners: false,
    more,
    connected: { ironic: driver },
  });
});

afterAll(async () => {
  await harness.drop();
  await farm[Symbol.asyncDispose]();
  await ironic[Symbol.asyncDispose]();
});

beforeEach(async () => {
  tenant = await harness.tenant({ balanceUsd: 10_000 });
  await harness.watch();
});
afterEach(async () => {
  expect(await harness.violations()).toEqual([]);
});

/** The engine works in real time, so the test's clock advances in real time too, with a pause between polls. */
const slowPolling = {
  rounds: 5_000,
  policy: { pollMs: 200, firstRetryMs: 200, maxRetryMs: 1_000, refusedMs: 200 },
};
const PAUSE_MS = 200;
const PAUSES_A_LOOK = 25;

let pauses = 0;
const advance = async (ms: number): Promise<void> => {
  await systemClock.sleep(PAUSE_MS);
  await harness.clock.advance(ms);
  pauses += 1;
  if (pauses % PAUSES_A_LOOK === 0) await harness.watch();
};

const order = () => harness.rentMetal(tenant, { gpuCount: 16, region });
const reconcile = (rental: Rental, until: Rental['status']) =>
  reconcileUntil({ ...harness, advance }, rental, { until, ...slowPolling });
const end = (rental: Rental) =>
  harness.run((tx) =>
    terminateRental(tx, tenant.orgId, rental.id, { reason: 'done', actor: tenant.call('live').cause.actor }),
  );
const machinesOf = (rental: Rental) => listMachines(harness.db, rental.orgId, rental.id, 'all');

const statusOf = async ({ nodeId }: RentalMachine): Promise<string | undefined> => {
  const [node] = await harness.rows<{ status: string }>(
    `select status from nodes where id = '${toUuid(nodeId)}'`,
  );
  return node?.status;
};

const targetOf = ({ address, sshUser, hostKey }: RentalMachine) => ({
  host: address ?? '',
  port: 22,
  user: sshUser ?? '',
  privateKey: tenant.ssh.privateKey,
  hostKey,
});

/** The node must be available and contain nothing of the last tenant. */
async function expectWiped({ nodeName }: RentalMachine): Promise<void> {
  expect(await readNode(ironic, nodeName)).toMatchObject({
    provision_state: 'available',
    maintenance: false,
  });
  expect(machines.get(nodeName)?.disk).toBeNull();
}

async function expectNothingPaid(rental: Rental): Promise<void> {
  expect(await harness.paid(tenant.orgId, causeOfRental(rental))).toBe(0n);
  expect((await harness.balance(tenant.orgId)).held).toBe(0n);
}

/** Resumes the node as an operator does after a repair. */
async function putBack(machine: RentalMachine): Promise<void> {
  const actor = { kind: 'operator', id: tenant.userId } as const;
  await harness.run((tx) => transitionNode(tx, machine.nodeId, 'node_ready', { reason: 'repaired', actor }));
  await harness.watch();
}

test('a two-node rental runs, accepts SSH logins, is terminated and wiped, and its nodes can be rented again', async () => {
  const rental = await reconcile(await order(), 'Running');
  const pair = await machinesOf(rental);
  expect(pair).toHaveLength(2);
  for (const machine of pair) {
    // Each machine has its own address, so SSH uses port 22 and no port of a range is taken.
    expect(machine.ports).toEqual([{ internalPort: 22, externalPort: 22, protocol: 'tcp' }]);
    expect(await loginAndCountGpus(targetOf(machine), never)).toMatchObject({ outcome: 'in', gpuCount: 8 });
  }
  expect(await harness.rows('select 1 from allocated_ports where released_at is null')).toEqual([]);
  await harness.advance(60_000);
  const { finalCost } = await end(rental);
  await reconcile(rental, 'Terminated');
  for (const machine of pair) {
    await expectWiped(machine);
    expect(await isKeyRejected(targetOf(machine), never)).toBe('unreachable');
  }
  expect(await harness.paid(tenant.orgId, causeOfRental(rental))).toBe(finalCost);

  const again = await reconcile(await order(), 'Running');
  await end(again);
  await reconcile(again, 'Terminated');
});

test('a two-node rental moves to another pair if Ironic allocated one node to others, and that node is quarantined', async () => {
  const accepted = await order();
  const [taken] = await machinesOf(accepted);
  if (taken === undefined) expect.fail('There is no machine.');
  const name = 'somebody-elses';
  await ironic.call('POST', '/v1/allocations', {
    name,
    resource_class: 'gpu',
    candidate_nodes: [taken.nodeName],
  });
  const rental = await reconcile(accepted, 'Running');
  expect(rental.attempt).toBe(2);
  expect(await statusOf(taken)).toBe('node_quarantined');
  await end(rental);
  await reconcile(rental, 'Terminated');
  // The other allocation must be untouched.
  expect((await readNode(ironic, taken.nodeName)).instance_uuid).not.toBeNull();
  await ironic.call('DELETE', `/v1/allocations/${name}`);
  await waitForNodeState(ironic, taken.nodeName, ['available']);
  await putBack(taken);
});

/**
 * One fault per node. The first pair is wiped while the second is tried, so faults that also prevent wiping (silent agent, stuck
 * power) are left to the driver's tests.
 */
const brokenWays: readonly Partial<MachineFaults>[] = [
  { failsToWriteImage: true },
  { bmcStatus: 401 },
  { failsToWriteImage: true },
  { bmcStatus: 401 },
];

test('a two-node rental on nodes that do not deploy becomes Failed without a charge, and all nodes are free again', async () => {
  [...machines.values()].forEach((machine, index) => machine.break(brokenWays[index] ?? {}));
  const failed = await reconcile(await order(), 'Failed');
  for (const machine of machines.values()) machine.heal();
  await reconcile(failed, 'Terminated');
  await expectNothingPaid(failed);
  const all = await machinesOf(failed);
  expect(new Set(all.map(({ nodeName }) => nodeName)).size).toBe(4);
  for (const machine of all) await expectWiped(machine);
});

test('a node that cannot be wiped is quarantined, and billing of its rental ends', async () => {
  const rental = await reconcile(await order(), 'Running');
  const pair = await machinesOf(rental);
  const [dirty, clean] = pair;
  if (dirty === undefined || clean === undefined) expect.fail('There is no pair.');
  machines.get(dirty.nodeName)?.break({ failsToClean: true });
  await harness.advance(60_000);
  const { finalCost } = await end(rental);
  await reconcile(rental, 'Terminated');
  expect(await harness.paid(tenant.orgId, causeOfRental(rental))).toBe(finalCost);
  expect(await statusOf(dirty)).toBe('node_quarantined');
  expect(await statusOf(clean)).toBe('node_ready');
  await expectWiped(clean);
  machines.get(dirty.nodeName)?.heal();
});
