import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isDriverError, type DriverErrorKind } from '../driver-error.ts';
import type { ComputeDriver } from '../driver.ts';
import { createIronicDriver } from './index.ts';
import { eightGpus, fault, FakeIronic, machineSpecFor } from './fake-ironic.fixture.ts';

// Failures that fake hardware never has, and the number of requests. Other tests use the real engine.

let ironic: FakeIronic;
let driver: ComputeDriver;
const soon = (): AbortSignal => AbortSignal.timeout(60_000);

beforeEach(async () => {
  ironic = await FakeIronic.start();
  driver = createIronicDriver(ironic.options);
});

afterEach(async () => {
  await driver.close();
  await ironic.close();
});

async function kindOf(call: Promise<unknown>): Promise<DriverErrorKind | 'no failure'> {
  return call.then(
    () => 'no failure',
    (error: unknown) => (isDriverError(error) ? error.kind : expect.fail(`threw ${String(error)}`)),
  );
}

describe('create on a node that another machine or client has', () => {
  it('fails with no_capacity if Ironic refuses the allocation, and leaves none', async () => {
    const node = ironic.addNode();
    // Taken after the read: Ironic refuses the allocation.
    ironic.interfere = ({ method }) => {
      if (method === 'POST') node.provision_state = 'deploying';
      return null;
    };
    expect(await kindOf(driver.create(machineSpecFor(node), soon()))).toBe('no_capacity');
    expect(ironic.allocations.size).toBe(0);
  });

  it.each([
    ['allocated by another client', { instance_uuid: '5f0b7a52-5a40-4b6a-9d4b-6c6d5f7a8b90' }],
    ['active', { provision_state: 'active' }],
    ['in maintenance', { maintenance: true }],
    ['of unknown power', { power_state: null }],
    ['without a resource class', { resource_class: null }],
    ['used by an operator', { provision_state: 'manageable' }],
    ['never wiped', { automated_clean: false }],
  ])('fails with no_capacity if the node is %s, and writes nothing', async (_title, changes) => {
    const node = ironic.addNode(changes);
    expect(await kindOf(driver.create(machineSpecFor(node), soon()))).toBe('no_capacity');
    expect(ironic.requests.every(({ method }) => method === 'GET')).toBe(true);
  });

  it('gives a node to one of two concurrent machines', async () => {
    const node = ironic.addNode();
    const [first, second] = [machineSpecFor(node), machineSpecFor(node)];
    const outcomes = await Promise.all([first, second].map((spec) => kindOf(driver.create(spec, soon()))));
    expect(outcomes.toSorted()).toEqual(['no failure', 'no_capacity']);
    expect([...ironic.allocations.keys()]).toEqual([node.instance_uuid]);
  });

  it('retries if the node was only locked', async () => {
    const node = ironic.addNode();
    const spec = machineSpecFor(node);
    let tries = 0;
    ironic.interfere = ({ method, body }) => {
      if (method !== 'POST' || (tries += 1) > 1) return null;
      const { extra } = body as { extra: Record<string, unknown> };
      const problem = 'could not reserve any of 1 suitable nodes';
      const allocation = {
        uuid: spec.externalId,
        state: 'error',
        node_uuid: null,
        last_error: problem,
        extra,
      };
      ironic.allocations.set(spec.externalId, allocation);
      return { status: 201, body: JSON.stringify(allocation) };
    };
    await driver.create(spec, soon());
    expect(node).toMatchObject({ instance_uuid: spec.externalId, provision_state: 'active' });
  });
});

describe('requests that Ironic accepts and does not complete', () => {
  it('a locked node is retried until the deadline of the call', async () => {
    const node = ironic.addNode();
    const locked = { status: 409, body: fault(`Node ${node.uuid} is locked by host x, please retry`) };
    let refusals = 3;
    ironic.interfere = ({ method }) => {
      if (method !== 'PATCH' || refusals === 0) return null;
      refusals -= 1;
      return locked;
    };
    await driver.create(machineSpecFor(node), soon());
    expect(node.provision_state).toBe('active');
    const other = ironic.addNode();
    ironic.interfere = ({ method }) => (method === 'PATCH' ? locked : null);
    expect(await kindOf(driver.create(machineSpecFor(other), AbortSignal.timeout(200)))).toBe('unavailable');
  });

  it("a deploy that fails after the request is reported with Ironic's error", async () => {
    const node = ironic.addNode();
    ironic.onProvision = (deployed) =>
      Object.assign(deployed, { provision_state: 'deploy failed', last_error: 'write_image: no space' });
    const spec = machineSpecFor(node);
    expect(await kindOf(driver.create(spec, soon()))).toBe('failed');
    const view = await driver.describe(spec, soon());
    expect(view).toMatchObject({ power: 'error' });
    expect(view?.detail).toContain('write_image: no space');
  });

  it("a failed power change is reported with Ironic's error, and a soft request is followed by a hard one", async () => {
    const node = ironic.addNode();
    const spec = machineSpecFor(node);
    await driver.create(spec, soon());
    ironic.onPower = (switched, target) => {
      switched.last_error = target.startsWith('soft') ? 'it did not shut down in time' : null;
      if (target === 'power off') switched.power_state = 'power off';
    };
    await driver.stop(spec, { graceMs: 1_000 }, soon());
    expect(await driver.describe(spec, soon())).toMatchObject({ power: 'off' });
    const orders = ironic.requests.filter(({ path }) => path.endsWith('/power')).map(({ body }) => body);
    expect(orders).toEqual([{ target: 'soft power off', timeout: 1 }, { target: 'power off' }]);
    ironic.onPower = (switched) => Object.assign(switched, { last_error: 'the BMC answered 503' });
    const start = driver.start(spec, soon());
    await expect(start).rejects.toThrow('the BMC answered 503');
    expect(await kindOf(start)).toBe('failed');
  });

  it('a node that cannot be wiped is unclean until it is repaired, and its machine is absent', async () => {
    const node = ironic.addNode();
    const spec = machineSpecFor(node);
    await driver.create(spec, soon());
    ironic.onProvision = (removed) => {
      ironic.undeploy(removed, 'clean failed');
      Object.assign(removed, { maintenance: true, last_error: 'erase_devices failed' });
    };
    const first = driver.terminate(spec, soon());
    await expect(first).rejects.toThrow('erase_devices failed');
    expect(await kindOf(first)).toBe('unclean');
    expect(await kindOf(driver.terminate(spec, soon()))).toBe('unclean');
    expect(await driver.describe(spec, soon())).toBeNull();
    expect((await driver.listOwned(soon())).machines).toEqual([]);
    const { nodes } = await driver.readInventory(soon());
    expect(nodes).toMatchObject([{ name: node.uuid, reachable: false, hardware: null }]);
    // After an operator repaired the node, terminate succeeds.
    Object.assign(node, { provision_state: 'available', maintenance: false });
    await driver.terminate(spec, soon());
    expect(node.extra).not.toHaveProperty('millrace_machine');
    expect(node.lessee).toBeNull();
  });

  it('a node that was released without wiping is unclean, keeps its annotation and is not sold', async () => {
    const node = ironic.addNode();
    const spec = machineSpecFor(node);
    await driver.create(spec, soon());
    node.automated_clean = false;
    expect(await kindOf(driver.terminate(spec, soon()))).toBe('unclean');
    expect(node).toMatchObject({
      provision_state: 'available',
      extra: { millrace_machine: expect.anything() },
    });
    expect((await driver.readInventory(soon())).nodes).toMatchObject([{ reachable: false, hardware: null }]);
    // An operator has wiped the node and corrected the setting.
    node.automated_clean = null;
    await driver.terminate(spec, soon());
    expect(node.extra).not.toHaveProperty('millrace_machine');
  });

  it('a node that cannot be undeployed is retried once per call, and its machine still exists', async () => {
    const node = ironic.addNode();
    const spec = machineSpecFor(node);
    await driver.create(spec, soon());
    ironic.onProvision = (stuck) => Object.assign(stuck, { provision_state: 'error', last_error: 'no BMC' });
    expect(await kindOf(driver.terminate(spec, soon()))).toBe('unavailable');
    expect(await driver.describe(spec, soon())).toMatchObject({ power: 'error' });
    expect(ironic.count('PUT', /provision$/)).toBe(2);
    ironic.onProvision = (removed) => ironic.undeploy(removed, 'available');
    await driver.terminate(spec, soon());
    expect(await driver.describe(spec, soon())).toBeNull();
  });

  it('the machine is changing while its node is wiped, and terminate waits for the end', async () => {
    const node = ironic.addNode();
    const spec = machineSpecFor(node);
    await driver.create(spec, soon());
    ironic.onProvision = (removed) => ironic.undeploy(removed, 'cleaning');
    expect(await kindOf(driver.terminate(spec, AbortSignal.timeout(200)))).toBe('unavailable');
    expect(await driver.describe(spec, soon())).toMatchObject({ power: 'changing' });
    const end = driver.terminate(spec, soon());
    node.provision_state = 'available';
    await end;
    expect(await driver.describe(spec, soon())).toBeNull();
  });
});

describe('cutAccess', () => {
  it('aborts a deploy in progress, and create fails with conflict from then on', async () => {
    const node = ironic.addNode();
    const spec = machineSpecFor(node);
    ironic.onProvision = (moved, target) => {
      if (target === 'active') moved.provision_state = 'wait call-back';
      else ironic.undeploy(moved, 'cleaning');
    };
    await driver.create(spec, soon());
    await driver.cutAccess(spec, soon());
    expect(node.provision_state).toBe('cleaning');
    expect(await kindOf(driver.create(spec, soon()))).toBe('conflict');
    node.provision_state = 'available';
    expect(await kindOf(driver.create(spec, soon()))).toBe('conflict');
    expect(await driver.describe(spec, soon())).toBeNull();
  });

  it('is not lost if it comes between the read and the deploy request of create', async () => {
    const node = ironic.addNode();
    const spec = machineSpecFor(node);
    ironic.interfere = ({ method, path }) => {
      if (method === 'PUT' && path.endsWith('/provision')) node.extra['millrace_cut'] = spec.externalId;
      return null;
    };
    expect(await kindOf(driver.create(spec, soon()))).toBe('conflict');
    expect(node.provision_state).toBe('available');
  });

  it('leaves nothing to deploy on a node that is only allocated', async () => {
    const node = ironic.addNode();
    const spec = machineSpecFor(node);
    // The creator dies after the allocation.
    ironic.interfere = ({ method }) => (method === 'PATCH' ? { status: 502, body: '' } : null);
    expect(await kindOf(driver.create(spec, soon()))).toBe('unavailable');
    ironic.interfere = () => null;
    expect(await driver.describe(spec, soon())).toMatchObject({ power: 'off', nodeName: node.uuid });
    await driver.cutAccess(spec, soon());
    expect(node.instance_info).toEqual({});
    expect(await kindOf(driver.create(spec, soon()))).toBe('conflict');
    await driver.terminate(spec, soon());
    expect(node.instance_uuid).toBeNull();
    expect(ironic.allocations.size).toBe(0);
  });
});

describe('requests to Ironic', () => {
  it('are one list for all concurrent reads, and none per node', async () => {
    const nodes = Array.from({ length: 16 }, () => ironic.addNode());
    const requests = nodes.map((node) => machineSpecFor(node));
    for (const spec of requests) await driver.create(spec, soon());
    ironic.requests.length = 0;
    const looks = requests.flatMap((spec) => [driver.describe(spec, soon()), driver.describe(spec, soon())]);
    await Promise.all([...looks, driver.listOwned(soon()), driver.readInventory(soon())]);
    // One for the first caller, and one for all callers during that read.
    const each = ['/v1/conductors', '/v1/nodes'];
    const paths = ironic.requests.map(({ path }) => path.split('?')[0] ?? '');
    expect(paths.toSorted()).toEqual([...each, ...each].toSorted());
  });

  it('return current data to every caller, even if others abort', async () => {
    const node = ironic.addNode();
    const spec = machineSpecFor(node);
    const first = driver.describe(spec, soon());
    const abort = new AbortController();
    const second = driver.describe(spec, abort.signal);
    const third = driver.describe(spec, soon());
    abort.abort();
    expect(await kindOf(second)).toBe('unavailable');
    expect([await first, await third]).toEqual([null, null]);
  });

  it('read an inspection once, and again after the next inspection', async () => {
    const node = ironic.addNode({ inspection_finished_at: '2026-01-01T00:00:00' });
    await driver.readInventory(soon());
    await driver.readInventory(soon());
    expect(ironic.count('GET', /inventory$/)).toBe(1);
    node.inspection_finished_at = '2026-02-01T00:00:00';
    await driver.readInventory(soon());
    expect(ironic.count('GET', /inventory$/)).toBe(2);
  });

  it('deploy with image, keys, name, network and lessee', async () => {
    const network = { links: [], networks: [], services: [] };
    const node = ironic.addNode();
    Object.assign(node.extra['millrace'] as object, { network_data: network });
    const spec = machineSpecFor(node, { userData: '#cloud-config\n{}\n' });
    await driver.create(spec, soon());
    expect(node.instance_info).toEqual({
      image_source: 'http://127.0.0.1/image.qcow2',
      image_os_hash_algo: 'sha256',
      image_os_hash_value: 'a'.repeat(64),
      image_disk_format: 'qcow2',
      image_type: 'whole-disk',
    });
    expect(node.lessee).toBe(spec.orgId);
    const deploy = ironic.requests.find(
      ({ method, path }) => method === 'PUT' && path.endsWith('/provision'),
    );
    expect(deploy?.body).toEqual({
      target: 'active',
      configdrive: {
        meta_data: {
          uuid: spec.externalId,
          hostname: 'rental-1',
          name: 'rental-1',
          public_keys: { 'millrace-0': 'ssh-ed25519 AAAA millrace' },
        },
        network_data: network,
        user_data: '#cloud-config\n{}\n',
      },
    });
    expect(await driver.describe(spec, soon())).toMatchObject({
      address: '203.0.113.7',
      privateIps: ['10.0.0.7'],
      gpuPciAddresses: eightGpus,
      sshUser: 'ubuntu',
      power: 'on',
    });
  });
});

describe('unreachable hardware', () => {
  it('a machine with an unreachable BMC is listed with its node as unreachable, never as absent', async () => {
    const node = ironic.addNode();
    const spec = machineSpecFor(node);
    await driver.create(spec, soon());
    Object.assign(node, { power_state: 'error', maintenance: true, maintenance_reason: 'no BMC' });
    const { machines, unreachableNodes } = await driver.listOwned(soon());
    expect(machines).toMatchObject([{ externalId: spec.externalId, power: 'error' }]);
    expect(unreachableNodes).toEqual([node.uuid]);
    expect(await driver.describe(spec, soon())).toMatchObject({ power: 'error' });
  });

  it('machines are unreachable and nodes not sold while no conductor is alive', async () => {
    const node = ironic.addNode();
    const spec = machineSpecFor(node);
    await driver.create(spec, soon());
    ironic.isAtWork = false;
    expect((await driver.listOwned(soon())).unreachableNodes).toEqual([node.uuid]);
    expect((await driver.readInventory(soon())).nodes).toMatchObject([{ reachable: false }]);
  });

  it('machines of another installation are neither listed nor touched, and their nodes not sold', async () => {
    const node = ironic.addNode();
    const spec = machineSpecFor(node);
    const outsider = createIronicDriver({ ...ironic.options, owner: 'another' });
    await outsider.create(spec, soon());
    await outsider.close();
    expect((await driver.listOwned(soon())).machines).toEqual([]);
    await driver.cutAccess(spec, soon());
    await driver.terminate(spec, soon());
    expect(node.provision_state).toBe('active');
    expect((await driver.readInventory(soon())).nodes).toMatchObject([{ reachable: false }]);
    expect(await kindOf(driver.create(spec, soon()))).toBe('no_capacity');
  });
});
