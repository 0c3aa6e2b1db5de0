import type { MachineRef } from '../driver.ts';
import type { IronicAllocation, IronicNode } from './ironic-schemas.ts';
import type { IronicClient } from './ironic-client.ts';
import { IronicError } from './ironic-errors.ts';
import { isAnnotationOf, locateMachine, readAnnotation, type LocatedMachine } from './ironic-machine.ts';

/** All nodes at one time with the owned machines on them. */
export interface PoolSnapshot {
  readonly nodes: readonly { readonly node: IronicNode; readonly located: LocatedMachine | null }[];
}

/**
 * Reads the whole pool in one list for all concurrent callers. Callers during a read share the next one, which starts when the
 * current one ends, so no caller gets data from before its call, and Ironic gets one list request at a time.
 */
export class IronicPool {
  readonly #client: IronicClient;
  readonly #owner: string;
  #current: Promise<PoolSnapshot> | null = null;
  #next: Promise<PoolSnapshot> | null = null;

  constructor(client: IronicClient, owner: string) {
    this.#client = client;
    this.#owner = owner;
  }

  read(signal: AbortSignal): Promise<PoolSnapshot> {
    if (signal.aborted) return Promise.reject(abortedError(signal));
    return raceWithSignal(this.#shared(), signal);
  }

  /** Also finds a machine of which only the annotation is left. */
  async find(machine: MachineRef, signal: AbortSignal): Promise<LocatedMachine | null> {
    const { nodes } = await this.read(signal);
    const found = nodes.flatMap(({ located }) =>
      located !== null && isAnnotationOf(located.mark, machine) ? [located] : [],
    );
    // After a crash two nodes may have the annotation; the allocated one counts.
    return found.find(({ node }) => node.instance_uuid === machine.externalId) ?? found[0] ?? null;
  }

  #shared(): Promise<PoolSnapshot> {
    if (this.#next !== null) return this.#next;
    if (this.#current === null) return this.#begin();
    this.#next = this.#current.then(
      () => this.#begin(),
      () => this.#begin(),
    );
    return this.#next;
  }

  #begin(): Promise<PoolSnapshot> {
    this.#next = null;
    const reading = this.#read(this.#client.closing);
    const over = (): void => {
      if (this.#current === reading) this.#current = null;
    };
    this.#current = reading;
    reading.then(over, over);
    return reading;
  }

  async #read(signal: AbortSignal): Promise<PoolSnapshot> {
    const [listed, isAtWork] = await Promise.all([
      this.#client.listNodes(signal),
      this.#client.isAtWork(signal),
    ]);
    const nodes = listed.map((node) => ({ ...node, hasNoConductor: !isAtWork }));
    const isUnexplained = ({ instance_uuid: instance, ...node }: IronicNode): boolean =>
      (instance ?? null) !== null && readAnnotation(node, this.#owner)?.external_id !== instance;
    // Between allocation and annotation, briefly or after a crash, only the allocation identifies the machine.
    const allocations = nodes.some(isUnexplained) ? await this.#client.listAllocations(signal) : [];
    const byNode = new Map<string, IronicAllocation>(
      allocations.flatMap((allocation) =>
        allocation.node_uuid === null || allocation.node_uuid === undefined
          ? []
          : [[allocation.node_uuid, allocation] as const],
      ),
    );
    return {
      nodes: nodes.map((node) => ({
        node,
        located: locateMachine(node, byNode.get(node.uuid) ?? null, this.#owner),
      })),
    };
  }
}

/** Rejects when the caller aborts, without aborting the read for others. */
function raceWithSignal<T>(response: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(abortedError(signal));
    signal.addEventListener('abort', giveUp, { once: true });
    void response.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}

export function abortedError(signal: AbortSignal, what = 'read'): IronicError {
  const why = signal.reason instanceof Error ? signal.reason.message : 'aborted';
  return new IronicError('unavailable', `The call ended before Ironic completed "${what}": ${why}`, {
    cause: signal.reason,
  });
}
