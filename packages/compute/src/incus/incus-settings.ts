import type { Clock } from '@millrace/platform/clock';
import type { Logger } from '@millrace/platform/log';
import type { IncusConnectionOptions } from './api/incus-transport.ts';

export type IncusDriverOptions = IncusConnectionOptions & {
  readonly instanceType: InstanceType;
  /** A managed network and a pool of the `default` project, which exist on every member. */
  readonly network: string;
  readonly storagePool: string;
  /** Who logs in; the image must have this user. */
  readonly sshUser: string;
  /**
   * Where ports are opened, by the name of the node. A node without an entry opens them at the address at which the
   * cluster knows it, a daemon of its own at the host of its endpoint, one behind a socket at 127.0.0.1.
   */
  readonly portAddresses?: Readonly<Record<string, string>>;
  /** Stamped on every machine. Two installations that share a daemon have different ones and leave each other alone. */
  readonly owner?: string;
  /** Whether containers may hold containers. Off unless set: it widens what a tenant can reach in the kernel. */
  readonly allowsNesting?: boolean;
  /** How many machines an organisation may have here, whatever the platform thinks. */
  readonly instancesPerOrg?: number;
  /**
   * The one project that all machines are in, whosever they are: the daemon is somebody else's, and our certificate is
   * good for this project alone. Nothing outside of it is read or written. Left out, each organisation has its own.
   */
  readonly project?: string;
  /** Where ports are opened, if not at the address that is shown: on a host behind NAT, or known by a name. */
  readonly listenAddress?: string;
  readonly clock: Clock;
  readonly log: Logger;
};

export type InstanceType = 'container' | 'virtual-machine';

/** What of the options decides how machines look; the rest is how the daemon is reached. */
export interface IncusSettings {
  readonly instanceType: InstanceType;
  readonly network: string;
  readonly storagePool: string;
  readonly sshUser: string;
  readonly owner: string;
  readonly allowsNesting: boolean;
  readonly instancesPerOrg: number | null;
  readonly project: string | null;
  readonly listenAddress: string | null;
}

export function settingsOf(options: IncusDriverOptions): IncusSettings {
  return {
    instanceType: options.instanceType,
    network: options.network,
    storagePool: options.storagePool,
    sshUser: options.sshUser,
    owner: options.owner ?? 'millrace',
    allowsNesting: options.allowsNesting ?? false,
    instancesPerOrg: options.instancesPerOrg ?? null,
    project: options.project ?? null,
    listenAddress: options.listenAddress ?? null,
  };
}
