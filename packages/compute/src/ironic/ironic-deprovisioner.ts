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

/** Removes machines: access first, then the deployment, then the data on disk, and the owner annotation last. */
export class IronicDeprovisioner {
  readonly #deps: IronicDeps;
  readonly #power: IronicPower;

  constructor(deps: IronicDeps, power: IronicPower) {
    this.#deps = deps;
    this.#power = power;
  }

  /** Powers off and marks the node. Ironic does not control the network, so power is the only means. */
  async cut(machine: MachineRef, signal: AbortSignal): Promise<void> {
    await pollUntilDone(this.#turns('cut the access of the machine'), signal, async () => {
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
        // Only the agent that wipes can run there.
        return undefined;
      case 'deploying':
      case 'leaving':
        // Ironic accepts no change before this state has ended.
        return pollAgain;
      case 'waiting':
        // Nothing runs yet that could be cut, and a deploy may take a quarter of an hour, so it is aborted.
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
   * Resolves when the node is wiped and free, or throws `unclean` if that needs an operator. Wiping may take longer than the
   * call, which is then `unavailable`; the next call continues.
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
          throw new IronicError('unclean', `The node ${node.uuid} was released without wiping: ${fault}`);
        }
        await this.#remove(node.uuid, mark, signal);
        return undefined;
      case 'unclean':
        throw new IronicError(
          'unclean',
          `The node ${node.uuid} is ${node.provision_state} and was not wiped: ${why}`,
        );
      case 'held':
        await client.deleteAllocation(mark.external_id, signal);
        return pollAgain;
      case 'stuck':
        // Ironic does not retry by itself; each call retries once.
        if (order.isGiven) throw new IronicError('unavailable', `The node cannot be undeployed: ${why}`);
        break;
      default:
        break;
    }
    await client.setProvisionState(node.uuid, { target: 'deleted' }, signal);
    order.isGiven = true;
    return pollAgain;
  }

  /** Reads again directly before, because without the annotation another machine may get the node. */
  async #remove(id: string, mark: { external_id: string; org: string }, signal: AbortSignal): Promise<void> {
    const node = await this.#deps.client.findNode(id, signal);
    const left = node === null ? null : readAnnotation(node, this.#deps.settings.owner);
    const isOwn = left !== null && left.external_id === mark.external_id && left.org === mark.org;
    const isFree = node?.provision_state === 'available' && (node.instance_uuid ?? null) === null;
    if (node !== null && isOwn && isFree) {
      await this.#deps.client.patchNode(id, clearAnnotationPatch(node), signal);
    }
  }

  /** A machine on no node may still have an allocation that failed or is in progress. */
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
    // An allocation that got its node meanwhile is found there.
    return pollAgain;
  }

  #turns(what: string): Parameters<typeof pollUntilDone>[0] {
    return { clock: this.#deps.client.clock, pollMs: this.#deps.settings.pollMs, what };
  }
}
