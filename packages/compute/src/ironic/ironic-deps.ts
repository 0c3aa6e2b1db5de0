import type { MachineRef } from '../driver.ts';
import type { IronicNode } from './ironic-schemas.ts';
import type { IronicClient } from './ironic-client.ts';
import { IronicError } from './ironic-errors.ts';
import { exists, type LocatedMachine } from './ironic-machine.ts';
import type { IronicPool } from './ironic-pool.ts';
import type { IronicSettings } from './ironic-settings.ts';

export class IronicDeps {
  readonly client: IronicClient;
  readonly pool: IronicPool;
  readonly settings: IronicSettings;

  constructor(client: IronicClient, pool: IronicPool, settings: IronicSettings) {
    this.client = client;
    this.pool = pool;
    this.settings = settings;
  }

  /** Throws `not_found` if the machine does not exist. */
  async there(machine: MachineRef, signal: AbortSignal): Promise<LocatedMachine> {
    const located = await this.pool.find(machine, signal);
    if (located !== null && exists(located)) return located;
    throw new IronicError('not_found', `Ironic has no machine ${machine.externalId}.`);
  }

  async node(uuid: string, signal: AbortSignal): Promise<IronicNode> {
    const node = await this.client.findNode(uuid, signal);
    if (node === null) throw new IronicError('not_found', `Ironic has no node ${uuid}.`);
    return node;
  }
}

export function assertAccessNotCut({ isCut }: Pick<LocatedMachine, 'isCut'>): void {
  if (isCut) throw new IronicError('conflict', 'Access to this machine was cut; it can only be terminated.');
}
