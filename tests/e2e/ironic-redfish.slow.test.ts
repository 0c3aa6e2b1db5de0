import { createHash, randomUUID } from 'node:crypto';
import type { ComputeDriver, MachineView, MachineSpec } from '@millrace/compute';
import { newKeyPair } from '@millrace/compute/conformance/ssh';
import { createIronicDriver } from '@millrace/compute/ironic';
import { isKeyRejected, loginAndCountGpus } from '@millrace/compute/readiness';
import { systemClock } from '@millrace/platform/clock';
import {
  enrolRedfish,
  eventually,
  readNode,
  startBareMetalFarm,
  startIronic,
  testIds,
  waitForNodeState,
  type BareMetalFarm,
  type EmulatedMachine,
  type MachineFaults,
  type TestIronic,
} from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

// The production path: our driver, a real Ironic with its Redfish driver, and machines with emulated BMC and deploy agent. The
// engine waits for seconds instead of the half hour of production.

const engineLimits = {
  conductor: {
    check_provision_state_interval: 2,
    deploy_callback_timeout: 15,
    clean_callback_timeout: 60,
    power_state_change_timeout: 8,
  },
  agent: { post_deploy_get_power_state_retry_interval: 1 },
  redfish: { connection_attempts: 1 },
};

interface Node {
  readonly uuid: string;
  readonly machine: EmulatedMachine;
}

const image = Buffer.from('No machine boots this image: machines are emulated.');
const imageName = 'ubuntu-24.04';
const timeout = (): AbortSignal => AbortSignal.timeout(240_000);
const keys = newKeyPair();

let ironic: TestIronic;
let farm: BareMetalFarm;
let driver: ComputeDriver;
let nodes: Node[];

beforeAll(async () => {
  [ironic, farm] = await Promise.all([
    startIronic({ conf: engineLimits }),
    startBareMetalFarm({ count: 2 + brokenDeploys.length + 2 }),
  ]);
  const url = await ironic.publish('image.raw', image);
  const value = createHash('sha256').update(image).digest('hex');
  driver = createIronicDriver({
    endpoint: ironic.url,
    credential: { username: ironic.username, password: ironic.password, serverCertificate: null },
    clock: systemClock,
    pollMs: 1_000,
    images: {
      [imageName]: { url, hash: { algorithm: 'sha256', value }, diskFormat: 'raw', sshUser: 'ubuntu' },
    },
  });
  nodes = await Promise.all(
    farm.machines.map(async (machine) => ({
      machine,
      uuid: await enrolRedfish(ironic, machine, {
        // Cleaning is checked after terminate; inspecting two nodes is enough.
        isCleaned: false,
        isInspected: machine.index < 2,
        fabric: 'ib-1',
      }),
    })),
  );
});

afterAll(async () => {
  await driver.close();
  await farm[Symbol.asyncDispose]();
  await ironic[Symbol.asyncDispose]();
});

function nodeAt(index: number): Node {
  const node = nodes[index];
  if (node === undefined) throw new Error(`There is no node ${index}.`);
  return node;
}

async function specFor({ uuid }: Node): Promise<MachineSpec> {
  const { nodes: all } = await driver.readInventory(timeout());
  const hardware = all.find(({ name }) => name === uuid)?.hardware;
  if (hardware == null) throw new Error('The node has no hardware.');
  return {
    externalId: randomUUID(),
    orgId: testIds.next('org'),
    mode: 'live',
    nodeName: uuid,
    gpuPciAddresses: hardware.gpus.map(({ pciAddress }) => pciAddress),
    cpuCount: hardware.cpuCount,
    ramMb: hardware.ramMb,
    diskGb: hardware.storageGb,
    image: imageName,
    hostname: 'gpu-0',
    sshKeys: [keys.public],
    userData: null,
    ports: [],
    labels: {},
  };
}

/** Creates the machine and waits until no operation is in progress. */
async function deployed(spec: MachineSpec): Promise<MachineView> {
  await driver.create(spec, timeout());
  return eventually({ what: 'the deploy to end', timeoutMs: 180_000, intervalMs: 1_000 }, async () => {
    const view = await driver.describe(spec, timeout());
    return view === null || view.power === 'changing' ? undefined : view;
  });
}

const targetOf = ({ address, sshUser }: MachineView) => ({
  host: address ?? '',
  port: 22,
  user: sshUser,
  privateKey: keys.private,
  hostKey: null,
});

/** The node must be available and contain nothing of the last tenant. */
async function expectFree({ uuid, machine }: Node): Promise<void> {
  const node = await readNode(ironic, uuid);
  expect(node).toMatchObject({ provision_state: 'available', maintenance: false, instance_uuid: null });
  expect(node.extra).not.toHaveProperty('millrace_machine');
  expect(machine.disk).toBeNull();
}

interface BrokenDeploy {
  readonly what: string;
  readonly faults: Partial<MachineFaults>;
  readonly detail: RegExp;
  /** Ironic cannot end the deploy either until the node is repaired. */
  readonly keepsNode?: boolean;
}

const brokenDeploys: readonly BrokenDeploy[] = [
  {
    what: 'its BMC refuses the credentials',
    faults: { bmcStatus: 401 },
    detail: /returned code 401/,
    keepsNode: true,
  },
  // Ironic retries ten times, three seconds apart, before it fails, so one row with this fault is enough.
  { what: 'its BMC is down', faults: { bmcStatus: 503 }, detail: /returned code 503/ },
  { what: 'its power is stuck', faults: { isPowerStuck: true }, detail: /Failed to set node power state/ },
  { what: 'its disk cannot be written', faults: { failsToWriteImage: true }, detail: /Error writing image/ },
  {
    what: 'its agent does not respond',
    faults: { isAgentSilent: true },
    detail: /Timeout reached while waiting for callback/,
  },
];

// Each test has its own nodes and mostly waits for the engine, so all run concurrently.
describe.concurrent('Ironic driver with a real Ironic', () => {
  test('deploys, terminates, wipes and deploys two nodes again', async () => {
    const pair = [nodeAt(0), nodeAt(1)];
    const requests = await Promise.all(pair.map(specFor));
    const views = await Promise.all(requests.map(deployed));
    for (const view of views) {
      expect(view).toMatchObject({ power: 'on', detail: null });
      const look = await loginAndCountGpus(targetOf(view), timeout());
      expect(look).toMatchObject({ outcome: 'in', gpuCount: 8 });
      const outsider = { ...targetOf(view), privateKey: newKeyPair().private };
      expect(await isKeyRejected(outsider, timeout())).toBe('refused');
    }
    const wipes = pair.map(({ machine }) => machine.wipes);
    await Promise.all(
      requests.map(async (spec) => {
        await driver.cutAccess(spec, timeout());
        await driver.terminate(spec, timeout());
        expect(await driver.describe(spec, timeout())).toBeNull();
      }),
    );
    for (const node of pair) await expectFree(node);
    expect(pair.map(({ machine }) => machine.wipes)).toEqual(wipes.map((count) => count + 1));
    for (const view of views) expect(await isKeyRejected(targetOf(view), timeout())).toBe('unreachable');

    const again = await specFor(nodeAt(0));
    expect(await deployed(again)).toMatchObject({ power: 'on' });
    await driver.terminate(again, timeout());
    await expectFree(nodeAt(0));
  }, 400_000);

  test.each(brokenDeploys.map((row, index) => ({ ...row, index })))(
    'fails a deploy with a reason and leaves the node usable when $what',
    async ({ faults, detail, keepsNode = false, index }) => {
      const node = nodeAt(2 + index);
      const spec = await specFor(node);
      node.machine.break(faults);
      expect(await deployed(spec)).toMatchObject({ power: 'error' });
      // The engine reports the failure a moment before the reason.
      await eventually({ what: `the detail ${detail}`, intervalMs: 500 }, async () => {
        const view = await driver.describe(spec, timeout());
        return view !== null && detail.test(view.detail ?? '');
      });
      expect(node.machine.disk).toBeNull();
      if (keepsNode) {
        await expect(driver.terminate(spec, timeout())).rejects.toMatchObject({ kind: 'unavailable' });
        expect(await driver.describe(spec, timeout())).not.toBeNull();
      }
      node.machine.heal();
      await driver.terminate(spec, timeout());
      expect(await driver.describe(spec, timeout())).toBeNull();
      await expectFree(node);
    },
    400_000,
  );

  test('deploys a machine with a slow BMC', async () => {
    const node = nodeAt(2 + brokenDeploys.length);
    const spec = await specFor(node);
    node.machine.break({ bmcDelayMs: 300 });
    const view = await deployed(spec);
    expect(view).toMatchObject({ power: 'on' });
    expect(await loginAndCountGpus(targetOf(view), timeout())).toMatchObject({ outcome: 'in', gpuCount: 8 });
    node.machine.heal();
    await driver.terminate(spec, timeout());
    await expectFree(node);
  }, 400_000);

  test('keeps a node that cannot be wiped out of use until an operator repairs it', async () => {
    const node = nodeAt(3 + brokenDeploys.length);
    const spec = await specFor(node);
    await deployed(spec);
    node.machine.break({ failsToClean: true });
    await expect(driver.terminate(spec, timeout())).rejects.toMatchObject({ kind: 'unclean' });
    expect(await driver.describe(spec, timeout())).toBeNull();
    const { nodes: all } = await driver.readInventory(timeout());
    expect(all.find(({ name }) => name === node.uuid)).toMatchObject({ reachable: false });
    const next = { ...spec, externalId: randomUUID() };
    await expect(driver.create(next, timeout())).rejects.toMatchObject({ kind: 'no_capacity' });

    node.machine.heal();
    await ironic.call('PUT', `/v1/nodes/${node.uuid}/states/provision`, { target: 'manage' });
    await waitForNodeState(ironic, node.uuid, ['manageable']);
    await ironic.call('DELETE', `/v1/nodes/${node.uuid}/maintenance`);
    await ironic.call('PUT', `/v1/nodes/${node.uuid}/states/provision`, { target: 'provide' });
    await waitForNodeState(ironic, node.uuid, ['available']);
    await driver.terminate(spec, timeout());
    await expectFree(node);
  }, 400_000);
});
