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

/** The only temporary failure of an allocation: the node was locked at each attempt of Ironic. */
const nodeLockedPattern = /could not reserve any of/i;

/** The spec, and whether this call has requested its deploy. */
interface CreateProgress {
  readonly spec: MachineSpec;
  readonly image: IronicImage;
  hasOrdered: boolean;
}

/**
 * Creates machines. The allocation has the machine's id and names one node, so Ironic itself refuses a second allocation with
 * this id and a second machine on this node. Each later step is done by any call that finds it undone.
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
    if (!isUuid(spec.externalId))
      throw new IronicError('refused', 'The external id of a machine in Ironic must be a UUID.');
    const image = settings.images[spec.image];
    if (image === undefined) throw new IronicError('not_found', `The cluster has no image ${spec.image}.`);
    const known = await pool.find(spec, signal);
    if (known !== null && known.node.uuid !== spec.nodeName && exists(known)) {
      throw new IronicError('conflict', `The machine is on the node ${known.node.uuid}.`);
    }
    const turns = { clock: client.clock, pollMs: settings.pollMs, what: 'create the machine' };
    const order = { spec: spec, image, hasOrdered: false };
    await pollUntilDone(turns, signal, () => this.#turn(order, signal));
  }

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
    if (difference !== null) throw new IronicError('conflict', `The existing machine has ${difference}.`);
    switch (phase) {
      case 'failed':
        // A failed deploy of an earlier call, perhaps after its conductor died, is retried once; that of this call is not.
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
        throw new IronicError('conflict', `The node is ${node.provision_state}: the machine was terminated.`);
    }
  }

  /** Allocates the node, or throws why it is not available. */
  async #take(
    node: IronicNode,
    other: LocatedMachine | null,
    spec: MachineSpec,
    signal: AbortSignal,
  ): Promise<typeof pollAgain> {
    const why = other !== null && exists(other) ? 'another machine is on it' : unavailableReason(node);
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

  /** An earlier call may have requested the node without learning that it is taken. */
  async #withdraw(spec: MachineSpec, signal: AbortSignal): Promise<void> {
    const { client, settings } = this.#deps;
    const allocation = await client.findAllocation(spec.externalId, signal);
    const mark = allocation === null ? null : readAnnotation(allocation, settings.owner);
    if (mark === null || !isAnnotationOf(mark, spec) || allocation?.state === 'active') return;
    await client.deleteAllocation(spec.externalId, signal);
  }

  /** Waits for the result of the allocation. */
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
      throw new IronicError('conflict', 'An allocation with this id belongs to another machine.');
    }
    if (state === 'active' && nodeUuid === spec.nodeName) return pollAgain;
    if (state === 'active')
      throw new IronicError('conflict', `The machine is on the node ${nodeUuid ?? 'unknown'}.`);
    // A failed allocation holds no node, and the next attempt needs its id.
    await client.deleteAllocation(spec.externalId, signal);
    if (nodeLockedPattern.test(problem ?? '')) return pollAgain;
    throw new IronicError(
      'no_capacity',
      `Ironic could not allocate the node ${spec.nodeName}: ${problem ?? 'no reason given'}`,
    );
  }

  /** A node is sold as a whole, so the spec must match its GPUs and not exceed its size. */
  async #refuseMisfit(node: IronicNode, spec: MachineSpec, signal: AbortSignal): Promise<void> {
    const hardware = hardwareOf(node, await this.#inspections.of(node, signal));
    if (hardware === null) throw nodeUnavailableError(node, 'its size is unknown');
    const has = new Set(hardware.gpus.map(({ pciAddress }) => pciAddress));
    if (!spec.gpuPciAddresses.every((address) => has.has(address)))
      throw nodeUnavailableError(node, 'it has other GPUs');
    if (spec.gpuPciAddresses.length !== has.size) {
      throw new IronicError('refused', `A bare-metal machine must have all ${has.size} GPUs of its node.`);
    }
    const isLarge =
      spec.cpuCount <= hardware.cpuCount &&
      spec.ramMb <= hardware.ramMb &&
      (hardware.storageGb === 0 || spec.diskGb <= hardware.storageGb);
    if (!isLarge) throw nodeUnavailableError(node, 'it has too few CPUs, or too little memory or disk');
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
    // An access cut may have come between the read and the deploy request, and its caller has not seen the deploy.
    const now = await this.#deps.node(node.uuid, signal);
    if (!isCut(now, mark.external_id)) return pollAgain;
    await client.setProvisionState(node.uuid, { target: 'deleted' }, signal).catch((error: unknown) => {
      // The caller of the access cut removes the machine next.
      if (!isDriverError(error)) throw error;
    });
    assertAccessNotCut({ isCut: true });
    return pollAgain;
  }
}

/** The node was free when placement chose it; another node may still be free. */
function nodeUnavailableError(node: IronicNode, why: string): IronicError {
  return new IronicError('no_capacity', `The node ${node.uuid} is not available: ${why}.`);
}
