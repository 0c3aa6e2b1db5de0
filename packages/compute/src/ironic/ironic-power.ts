import { msToSecondsRoundUp } from '@millrace/platform/money';
import { isDriverError } from '../driver-error.ts';
import type { MachineRef } from '../driver.ts';
import type { IronicNode } from './ironic-schemas.ts';
import type { PowerTarget } from './ironic-client.ts';
import { IronicError } from './ironic-errors.ts';
import type { LocatedMachine } from './ironic-machine.ts';
import type { IronicDeps } from './ironic-deps.ts';
import { pollAgain, pollUntilDone } from './ironic-poll.ts';

const isOn = (node: IronicNode): boolean => node.power_state === 'power on';
const isOff = (node: IronicNode): boolean => node.power_state === 'power off';
/** It was on before, so only a missing error shows that it was off in between. */
const isRebooted = (node: IronicNode): boolean => isOn(node) && (node.last_error ?? '') === '';

/** The lock is taken before a request becomes visible and released after its end, so both are checked. */
const isChanging = (node: IronicNode): boolean =>
  (node.target_power_state ?? null) !== null || (node.reservation ?? null) !== null;

/** Changes the power of nodes: each call reads, requests once and waits for the result. */
export class IronicPower {
  readonly #deps: IronicDeps;

  constructor(deps: IronicDeps) {
    this.#deps = deps;
  }

  /** Does nothing if the node is on. */
  async on(node: IronicNode, signal: AbortSignal): Promise<void> {
    await this.#bring(node.uuid, { target: 'power on' }, isOn, signal);
  }

  /** Shuts down if there is time, then powers off. */
  async off(node: IronicNode, graceMs: number, signal: AbortSignal): Promise<void> {
    if (graceMs > 0 && !isOff(node)) {
      const order = { target: 'soft power off', timeout: msToSecondsRoundUp(graceMs) } as const;
      if (await this.#request(node.uuid, order, isOff, signal)) return;
    }
    await this.#bring(node.uuid, { target: 'power off' }, isOff, signal);
  }

  async reboot(node: IronicNode, graceMs: number, signal: AbortSignal): Promise<void> {
    if (isOff(node)) return this.on(node, signal);
    if (graceMs > 0) {
      const order = { target: 'soft rebooting', timeout: msToSecondsRoundUp(graceMs) } as const;
      if (await this.#request(node.uuid, order, isRebooted, signal)) return;
    }
    await this.#order(node.uuid, { target: 'rebooting' }, signal);
    await this.#settled(node.uuid, 'rebooting', isRebooted, signal);
  }

  /** Waits until the machine is deployed, so that requests during a deploy take effect after its start. */
  deployed(machine: MachineRef, what: string, signal: AbortSignal): Promise<LocatedMachine> {
    return pollUntilDone(this.#turns(what), signal, async () => {
      const located = await this.#deps.there(machine, signal);
      switch (located.phase) {
        case 'deployed':
          return located;
        case 'deploying':
        case 'waiting':
          return pollAgain;
        case 'failed':
          throw new IronicError(
            'failed',
            `The machine could not be deployed: ${located.node.last_error ?? 'no reason given'}`,
          );
        case 'held':
          throw new IronicError('refused', 'The machine is not deployed yet.');
        default:
          throw new IronicError(
            'conflict',
            `The node is ${located.node.provision_state}: the machine is being removed.`,
          );
      }
    });
  }

  /** Requests a soft change. False if it failed or is not supported. */
  async #request(
    uuid: string,
    order: { readonly target: PowerTarget; readonly timeout: number },
    isDone: (node: IronicNode) => boolean,
    signal: AbortSignal,
  ): Promise<boolean> {
    try {
      await this.#order(uuid, order, signal);
      await this.#settled(uuid, order.target, isDone, signal);
      return true;
    } catch (error) {
      if (isDriverError(error, 'unsupported') || isDriverError(error, 'failed')) return false;
      throw error;
    }
  }

  async #bring(
    uuid: string,
    order: { readonly target: PowerTarget },
    isDone: (node: IronicNode) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const isOrdered = await pollUntilDone(this.#turns(order.target), signal, async () => {
      const node = await this.#deps.node(uuid, signal);
      if (isChanging(node)) return pollAgain;
      if (isDone(node)) return false;
      await this.#deps.client.setPower(uuid, order, signal);
      return true;
    });
    if (isOrdered) await this.#settled(uuid, order.target, isDone, signal);
  }

  #order(
    uuid: string,
    order: { readonly target: PowerTarget; readonly timeout?: number },
    signal: AbortSignal,
  ): Promise<void> {
    return pollUntilDone(this.#turns(order.target), signal, async () => {
      await this.#deps.client.setPower(uuid, order, signal);
    });
  }

  /** Ironic accepts every request; only the node shows its result. */
  #settled(
    id: string,
    what: string,
    isDone: (node: IronicNode) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    return pollUntilDone(this.#turns(what), signal, async () => {
      const node = await this.#deps.node(id, signal);
      if (isChanging(node)) return pollAgain;
      if (isDone(node)) return;
      const reason = node.last_error ?? 'no reason given';
      throw new IronicError('failed', `The node did not change its power state (${what}): ${reason}`);
    });
  }

  #turns(what: string): Parameters<typeof pollUntilDone>[0] {
    return { clock: this.#deps.client.clock, pollMs: this.#deps.settings.pollMs, what };
  }
}
