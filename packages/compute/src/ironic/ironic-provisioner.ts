import { isUuid } from '@millrace/platform/ids';
import { isDriverError } from '../driver-error.ts';
import type { MachineSpec } from '../driver.ts';
import type { IronicAllocation, IronicNode } from './ironic-schemas.ts';
import { configDriveFor } from './ironic-config-drive.ts';
import { IronicError } from './ironic-errors.ts';
import type { IronicInspections } from './ironic-inspections.ts';
import { hardwareOf } from './ironic-inventory.ts';
import {
  deployPatch,
  differenceFromSpec,
  toNodeExtra,
  isCut,
  isAnnotationOf,
  exists,
  locateMachine,
  newAnnotation,
  readAnnotation,
  readOperatorNotes,
  assertPortsUnmapped,
  unavailableReason,
  type LocatedMachine,
} from './ironic-machine.ts';
import { assertAccessNotCut, type IronicDeps } from './ironic-deps.ts';
import type { IronicPower } from './ironic-power.ts';
import type { IronicImage } from './ironic-settings.ts';
import { pollAgain, pollUntilDone } from './ironic-poll.ts';

/** The one failure of an allocation that may pass: the node was locked whenever Ironic tried. */
const nodeLockedPattern = /could not reserve any of/i;

/** What is asked for, and whether this very call has ordered the deploy of it. */
interface CreateProgress {
  readonly spec: MachineSpec;
  readonly image: IronicImage;
  hasOrdered: boolean;
}

/**
 * Makes machines. The allocation bears the machine's own id and names one node, so Ironic itself refuses a second one of
 * this id, and a second machine on this node. All that follows is done by whoever finds it undone.
 */
export class IronicProvisioner {
  readonly #deps: IronicDeps;
  readonly #power: IronicPower;
  readonly #inspections: IronicInspections;

  constructor(deps: IronicDeps, power: IronicPower, inspections: IronicInspections) {
    this.#deps = deps;
    this.#power = power;
    this.#inspections = inspections;
  }

  async create(spec: MachineSpec, signal: AbortSignal): Promise<void> {
    const { client, settings, pool } = this.#deps;
    assertPortsUnmapped(spec.ports);
    if (!isUuid(spec.externalId)) throw new IronicError('refused', 'In Ironic a machine is known by a UUID.');
    const image = settings.images[spec.image];
    if (image === undefined) throw new IronicError('not_found', `The cluster has no image ${spec.image}.`);
    const known = await pool.find(spec, signal);
    if (known !== null && known.node.uuid !== spec.nodeName && exists(known)) {
      throw new IronicError('conflict', `The machine is on the node ${known.node.uuid}.`);
    }
    const turns = { clock: client.clock, pollMs: settings.pollMs, what: 'make the machine' };
    const order = { spec: spec, image, hasOrdered: false };
    await pollUntilDone(turns, signal, () => this.#turn(order, signal));
  }

  /** The next step of those that are not done yet. */
  async #turn(order: CreateProgress, signal: AbortSignal): Promise<typeof pollAgain | undefined> {
    const { spec } = order;
    const node = isUuid(spec.nodeName) ? await this.#deps.client.findNode(spec.nodeName, signal) : null;
    if (node === null) throw new IronicError('not_found', `Ironic has no node ${spec.nodeName}.`);
    const allocation =
      node.instance_uuid === spec.externalId
        ? await this.#deps.client.findAllocation(spec.externalId, signal)
        : null;
    const located = locateMachine(node, allocation, this.#deps.settings.owner);
    if (located === null || !isAnnotationOf(located.mark, spec))
      return this.#take(node, located, spec, signal);
    return this.#continue(located, order, signal);
  }

  async #continue(
    located: LocatedMachine,
    order: CreateProgress,
    signal: AbortSignal,
  ): Promise<typeof pollAgain | undefined> {
    const { node, phase, mark } = located;
    assertAccessNotCut(located);
    const difference = differenceFromSpec(mark, order.spec);
    if (difference !== null)
      throw new IronicError('conflict', `The machine that is there has ${difference}.`);
    switch (phase) {
      case 'failed':
        // What an earlier order came to, perhaps because its conductor died, is tried once more; our own is not.
        if (order.hasOrdered)
          throw new IronicError('failed', `The deploy failed: ${node.last_error ?? 'no reason given'}`);
        return this.#deploy(located, order, signal);
      case 'held':
        return this.#deploy(located, order, signal);
      case 'deploying':
      case 'waiting':
        return undefined;
      case 'deployed':
        return this.#power.on(node, signal).then(() => undefined);
      default:
        throw new IronicError('conflict', `Its node is ${node.provision_state}: the machine was ended.`);
    }
  }

  /** The node for this machine and nobody else, or a failure that says that it cannot be had. */
  async #take(
    node: IronicNode,
    other: LocatedMachine | null,
    spec: MachineSpec,
    signal: AbortSignal,
  ): Promise<typeof pollAgain> {
    const why =
      other !== null && exists(other) ? 'another machine of ours is on it' : unavailableReason(node);
    if (why !== null) {
      await this.#withdraw(spec, signal);
      throw nodeUnavailableError(node, why);
    }
    await this.#refuseMisfit(node, spec, signal);
    const { client, settings } = this.#deps;
    const mark = newAnnotation(spec, settings.owner, client.clock.now());
    try {
      await client.allocate(
        {
          uuid: spec.externalId,
          name: `mr-${spec.externalId}`,
          resource_class: node.resource_class ?? '',
          candidate_nodes: [node.uuid],
          extra: toNodeExtra(mark),
        },
        signal,
      );
    } catch (error) {
      if (!isDriverError(error, 'conflict')) throw error;
    }
    const allocation = await this.#allocated(spec, signal);
    return allocation === null ? pollAgain : this.#decide(allocation, spec, signal);
  }

  /** An earlier call may have asked for the node and never heard that somebody else has it. */
  async #withdraw(spec: MachineSpec, signal: AbortSignal): Promise<void> {
    const { client, settings } = this.#deps;
    const allocation = await client.findAllocation(spec.externalId, signal);
    const mark = allocation === null ? null : readAnnotation(allocation, settings.owner);
    if (mark === null || !isAnnotationOf(mark, spec) || allocation?.state === 'active') return;
    await client.deleteAllocation(spec.externalId, signal);
  }

  /** What became of the allocation, once Ironic knows. */
  async #allocated(spec: MachineSpec, signal: AbortSignal): Promise<IronicAllocation | null> {
    const { client, settings } = this.#deps;
    const turns = { clock: client.clock, pollMs: settings.pollMs, what: 'allocate the node' };
    return pollUntilDone(turns, signal, async () => {
      const allocation = await client.findAllocation(spec.externalId, signal);
      return allocation?.state === 'allocating' ? pollAgain : allocation;
    });
  }

  async #decide(
    { state, node_uuid: nodeUuid, last_error: problem, ...allocation }: IronicAllocation,
    spec: MachineSpec,
    signal: AbortSignal,
  ): Promise<typeof pollAgain> {
    const { client, settings } = this.#deps;
    const mark = readAnnotation(allocation, settings.owner);
    if (mark === null || !isAnnotationOf(mark, spec)) {
      throw new IronicError('conflict', 'An allocation of this id is there that is not of this machine.');
    }
    if (state === 'active' && nodeUuid === spec.nodeName) return pollAgain;
    if (state === 'active')
      throw new IronicError('conflict', `The machine is on the node ${nodeUuid ?? 'unknown'}.`);
    // It holds nothing, and the next attempt needs its id.
    await client.deleteAllocation(spec.externalId, signal);
    if (nodeLockedPattern.test(problem ?? '')) return pollAgain;
    throw new IronicError(
      'no_capacity',
      `Ironic did not give the node ${spec.nodeName}: ${problem ?? 'no reason given'}`,
    );
  }

  /** A node is sold whole. Who asks for other GPUs than it has, or for more than it is, has another node in mind. */
  async #refuseMisfit(node: IronicNode, spec: MachineSpec, signal: AbortSignal): Promise<void> {
    const hardware = hardwareOf(node, await this.#inspections.of(node, signal));
    if (hardware === null) throw nodeUnavailableError(node, 'its size is unknown');
    const has = new Set(hardware.gpus.map(({ pciAddress }) => pciAddress));
    if (!spec.gpuPciAddresses.every((address) => has.has(address)))
      throw nodeUnavailableError(node, 'it has other GPUs');
    if (spec.gpuPciAddresses.length !== has.size) {
      throw new IronicError('refused', `A machine on bare metal has all ${has.size} GPUs of its node.`);
    }
    const isLarge =
      spec.cpuCount <= hardware.cpuCount &&
      spec.ramMb <= hardware.ramMb &&
      (hardware.storageGb === 0 || spec.diskGb <= hardware.storageGb);
    if (!isLarge) throw nodeUnavailableError(node, 'it is smaller than that');
  }

  async #deploy(
    { node, mark }: LocatedMachine,
    order: CreateProgress,
    signal: AbortSignal,
  ): Promise<typeof pollAgain> {
    const { client } = this.#deps;
    const { spec, image } = order;
    await client.patchNode(node.uuid, deployPatch(mark, image), signal);
    const configdrive = configDriveFor(spec, readOperatorNotes(node));
    await client.setProvisionState(node.uuid, { target: 'active', configdrive }, signal);
    order.hasOrdered = true;
    // A cut may have come between our look and the order; whoever cut has not seen it.
    const now = await this.#deps.node(node.uuid, signal);
    if (!isCut(now, mark.external_id)) return pollAgain;
    await client.setProvisionState(node.uuid, { target: 'deleted' }, signal).catch((error: unknown) => {
      // Removing it is the next thing that whoever cut it does.
      if (!isDriverError(error)) throw error;
    });
    assertAccessNotCut({ isCut: true });
    return pollAgain;
  }
}

/** It was free when placement chose it. Whoever took it, another node may be free. */
function nodeUnavailableError(node: IronicNode, why: string): IronicError {
  return new IronicError('no_capacity', `The node ${node.uuid} cannot be had: ${why}.`);
}
