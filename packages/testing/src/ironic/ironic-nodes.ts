import { gpuCount, type EmulatedMachine } from '../emulators/emulated-machine.ts';
import { eventually } from '../time/eventually.ts';
import type { TestIronic } from './ironic.ts';

/** The data that an operator enters about a node. */
export interface NodeOptions {
  readonly name?: string;
  readonly resourceClass?: string;
  /** The addresses of its tenant ports and for storage. */
  readonly address?: string;
  readonly privateAddress?: string;
  readonly fabric?: string;
  /** The name that the vendor's driver uses. */
  readonly gpuModel?: string;
  /** Additional kernel parameters of its agent. */
  readonly kernelWords?: string;
  /** Whether its disk is cleaned before it becomes available; true by default. */
  readonly isCleaned?: boolean;
  /** Whether Ironic inspects its hardware; true by default. Otherwise its MAC address is registered. */
  readonly isInspected?: boolean;
}

export interface IronicNode {
  readonly uuid: string;
  readonly provision_state: string;
  readonly power_state: string | null;
  readonly last_error: string | null;
  readonly maintenance: boolean;
  readonly reservation: string | null;
  readonly instance_uuid: string | null;
  readonly extra: Readonly<Record<string, unknown>>;
}

/** Requests only these fields, because serialising all of them takes Ironic longer than finding the node. */
const fields: readonly (keyof IronicNode)[] = [
  'uuid',
  'provision_state',
  'power_state',
  'last_error',
  'maintenance',
  'reservation',
  'instance_uuid',
  'extra',
];

export function readNode(ironic: TestIronic, uuid: string): Promise<IronicNode> {
  return ironic.call('GET', `/v1/nodes/${uuid}?fields=${fields.join()}`);
}

export async function setProvisionState(
  ironic: TestIronic,
  uuid: string,
  target: string,
  more: object = {},
): Promise<void> {
  await ironic.call('PUT', `/v1/nodes/${uuid}/states/provision`, { target, ...more });
}

/** Waits until the node is in one of these states and unlocked. */
export function waitForNodeState(
  ironic: TestIronic,
  uuid: string,
  states: readonly string[],
  timeoutMs = 60_000,
): Promise<IronicNode> {
  return eventually(
    { what: `node ${uuid} to be ${states.join(' or ')}`, timeoutMs, intervalMs: POLL_MS },
    async () => {
      const node = await readNode(ironic, uuid);
      const isAtRest = node.reservation === null && states.includes(node.provision_state);
      if (!isAtRest) throw new Error(`The node is ${node.provision_state}: ${node.last_error ?? 'no error'}`);
      return node;
    },
  );
}

/** A poll takes a hundredth of a second of the one processor that Ironic uses. */
const POLL_MS = 500;

async function manage(ironic: TestIronic, uuid: string): Promise<void> {
  await setProvisionState(ironic, uuid, 'manage');
  await waitForNodeState(ironic, uuid, ['manageable']);
}

async function provide(ironic: TestIronic, uuid: string, isCleaned: boolean): Promise<void> {
  const setCleaning = (value: boolean | null) =>
    ironic.call('PATCH', `/v1/nodes/${uuid}`, [{ op: 'add', path: '/automated_clean', value }]);
  if (!isCleaned) await setCleaning(false);
  await setProvisionState(ironic, uuid, 'provide');
  await waitForNodeState(ironic, uuid, ['available']);
  if (!isCleaned) await setCleaning(null);
}

const nodeExtra = ({ address, privateAddress, fabric, gpuModel }: NodeOptions) => ({
  gpu_model: gpuModel ?? 'NVIDIA H100 80GB HBM3',
  ...(address !== undefined && { address }),
  ...(privateAddress !== undefined && { private_address: privateAddress }),
  ...(fabric !== undefined && { fabric }),
});

const propertiesOf = () => ({
  cpu_arch: 'x86_64',
  cpus: 224,
  memory_mb: 2_097_152,
  local_gb: 3_576,
  capabilities: `boot_mode:bios,gpu_count:${gpuCount}`,
});

/** Enrols a machine as an operator does: registers its BMC, inspects and cleans it. Returns the node's UUID. */
export async function enrolRedfish(
  ironic: TestIronic,
  machine: EmulatedMachine,
  words: NodeOptions = {},
): Promise<string> {
  const { uuid } = await ironic.call<IronicNode>('POST', '/v1/nodes', {
    ...(words.name !== undefined && { name: words.name }),
    driver: 'redfish',
    deploy_interface: 'direct',
    boot_interface: 'redfish-virtual-media',
    inspect_interface: 'redfish',
    bios_interface: 'no-bios',
    raid_interface: 'no-raid',
    vendor_interface: 'no-vendor',
    resource_class: words.resourceClass ?? 'gpu',
    driver_info: {
      redfish_address: machine.farmUrl,
      redfish_system_id: `/redfish/v1/Systems/${machine.id}`,
      redfish_username: machine.username,
      redfish_password: machine.password,
      redfish_auth_type: 'basic',
      ...(words.kernelWords !== undefined && { kernel_append_params: `%default% ${words.kernelWords}` }),
    },
    properties: propertiesOf(),
    extra: { millrace: nodeExtra({ address: machine.address, privateAddress: machine.address, ...words }) },
  });
  await manage(ironic, uuid);
  if (words.isInspected ?? true) {
    await setProvisionState(ironic, uuid, 'inspect');
    await waitForNodeState(ironic, uuid, ['manageable']);
  } else await ironic.call('POST', '/v1/ports', { node_uuid: uuid, address: machine.mac });
  await provide(ironic, uuid, words.isCleaned ?? true);
  return uuid;
}

/** A node without a machine, which executes every request after the delays of `[fake]`. */
export async function enrolFake(ironic: TestIronic, words: NodeOptions = {}): Promise<string> {
  const { uuid } = await ironic.call<IronicNode>('POST', '/v1/nodes', {
    ...(words.name !== undefined && { name: words.name }),
    driver: 'fake-hardware',
    resource_class: words.resourceClass ?? 'gpu',
    properties: propertiesOf(),
    extra: { millrace: nodeExtra(words) },
  });
  await manage(ironic, uuid);
  // The power state is unknown until it was set once, and nodes with an unknown state are not placed.
  await ironic.call('PUT', `/v1/nodes/${uuid}/states/power`, { target: 'power off' });
  await eventually({ what: `the power of node ${uuid}`, intervalMs: POLL_MS }, async () => {
    const node = await readNode(ironic, uuid);
    return node.reservation === null && node.power_state === 'power off';
  });
  await provide(ironic, uuid, words.isCleaned ?? true);
  return uuid;
}
