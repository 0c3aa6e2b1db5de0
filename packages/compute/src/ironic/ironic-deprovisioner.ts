import { isUuid } from '@millrace/platform/ids';
import { isDriverError } from '../driver-error.ts';
import type { MachineRef } from '../driver.ts';
import { IronicError } from './ironic-errors.ts';
import {
  accessCutPatch,
  clearAnnotationPatch,
  isCleaningDisabled,
  isAnnotationOf,
  readAnnotation,
  type LocatedMachine,
} from './ironic-machine.ts';
import type { IronicDeps } from './ironic-deps.ts';
import type { IronicPower } from './ironic-power.ts';
import { pollAgain, pollUntilDone } from './ironic-poll.ts';

/** How machines go: access first, then what is deployed, then what is on the disks, and our mark last of all. */
export class IronicDeprovisioner {
  readonly #deps: IronicDeps;
  readonly #power: IronicPower;

  constructor(deps: IronicDeps, power: IronicPower) {
    this.#deps = deps;
    this.#power = power;
  }

  /** Hard power off, and a mark that keeps it so. Ironic has no say over the network of a node: power is all that there is. */
  async cut(machine: MachineRef, signal: AbortSignal): Promise<void> {
    await pollUntilDone(this.#turns('cut its access'), signal, async () => {
      const located = await this.#deps.pool.find(machine, signal);
      return located === null ? undefined : this.#cutTurn(located, signal);
    });
  }

  async #cutTurn(located: LocatedMachine, signal: AbortSignal): Promise<typeof pollAgain | undefined> {
    const { client } = this.#deps;
    const { node, phase } = located;
    switch (phase) {
      case 'wiping':
      case 'wiped':
      case 'unclean':
        // What runs there, if anything does, is the agent that wipes.
        return undefined;
      case 'deploying':
      case 'leaving':
        // Nothing can be written on it, nor ordered, before that has ended.
        return pollAgain;
      case 'waiting':
        // It has nothing yet that could be cut, and nobody waits for the end of a deploy that may take a quarter of an hour.
        await client.setProvisionState(node.uuid, { target: 'deleted' }, signal);
        return pollAgain;
      default:
        break;
    }
    if (!located.isCut) {
      await client.patchNode(node.uuid, accessCutPatch(located), signal);
      return pollAgain;
    }
    if (phase !== 'held') await this.#power.off(node, 0, signal);
    return undefined;
  }

  /**
   * Resolves when the node is wiped and free. `unclean`: it never will be without a person. How long wiping takes is the
   * node's; a call that has no more time is `unavailable`, and the next one goes on.
   */
  async terminate(machine: MachineRef, signal: AbortSignal): Promise<void> {
    const order = { isGiven: false };
    await pollUntilDone(this.#turns('remove the machine'), signal, async () => {
      const located = await this.#deps.pool.find(machine, signal);
      return located === null
        ? this.#deleteAllocation(machine, signal)
        : this.#endTurn(located, order, signal);
    });
  }

  async #endTurn(
    { node, mark, phase }: LocatedMachine,
    order: { isGiven: boolean },
    signal: AbortSignal,
  ): Promise<typeof pollAgain | undefined> {
    const { client } = this.#deps;
    const why = node.last_error ?? node.maintenance_reason ?? 'no reason given';
    switch (phase) {
      case 'deploying':
      case 'leaving':
      case 'wiping':
        return pollAgain;
      case 'wiped':
        if (isCleaningDisabled(node)) {
          const fault = 'its automated_clean is false';
          throw new IronicError('unclean', `Its node ${node.uuid} was given back as it was: ${fault}`);
        }
        await this.#remove(node.uuid, mark, signal);
        return undefined;
      case 'unclean':
        throw new IronicError(
          'unclean',
          `Its node ${node.uuid} is ${node.provision_state} and was not wiped: ${why}`,
        );
      case 'held':
        await client.deleteAllocation(mark.external_id, signal);
        return pollAgain;
      case 'stuck':
        // Ironic tries no second time by itself; we try once in each call.
        if (order.isGiven) throw new IronicError('unavailable', `Its node cannot be undeployed: ${why}`);
        break;
      default:
        break;
    }
    await client.setProvisionState(node.uuid, { target: 'deleted' }, signal);
    order.isGiven = true;
    return pollAgain;
  }

  /** Looks once more right before: from the moment that the mark is gone the node may be another's. */
  async #remove(id: string, mark: { external_id: string; org: string }, signal: AbortSignal): Promise<void> {
    const node = await this.#deps.client.findNode(id, signal);
    const left = node === null ? null : readAnnotation(node, this.#deps.settings.owner);
    const isOwn = left !== null && left.external_id === mark.external_id && left.org === mark.org;
    const isFree = node?.provision_state === 'available' && (node.instance_uuid ?? null) === null;
    if (node !== null && isOwn && isFree) {
      await this.#deps.client.patchNode(id, clearAnnotationPatch(node), signal);
    }
  }

  /** What is on no node may still be an allocation that came to nothing, or is about to come to something. */
  async #deleteAllocation(machine: MachineRef, signal: AbortSignal): Promise<typeof pollAgain | undefined> {
    const { client, settings } = this.#deps;
    if (!isUuid(machine.externalId)) return undefined;
    const allocation = await client.findAllocation(machine.externalId, signal);
    const mark = allocation === null ? null : readAnnotation(allocation, settings.owner);
    if (mark === null || !isAnnotationOf(mark, machine)) return undefined;
    if (allocation?.state === 'allocating') return pollAgain;
    try {
      await client.deleteAllocation(machine.externalId, signal);
    } catch (error) {
      if (!isDriverError(error, 'busy')) throw error;
    }
    // One that got its node meanwhile is seen there.
    return pollAgain;
  }

  #turns(what: string): Parameters<typeof pollUntilDone>[0] {
    return { clock: this.#deps.client.clock, pollMs: this.#deps.settings.pollMs, what };
  }
}
