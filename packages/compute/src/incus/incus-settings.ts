import type { Clock } from '@millrace/platform/clock';
import type { Logger } from '@millrace/platform/log';
import type { IncusConnectionOptions } from './api/incus-transport.ts';

export type IncusDriverOptions = IncusConnectionOptions & {
  readonly instanceType: InstanceType;
  /** A managed network and a pool of the `default` project that exist on every member. */
  readonly network: string;
  readonly storagePool: string;
  /** The login user, which the image must have. */
  readonly sshUser: string;
  /** By node name. Default: the cluster's address of the node, a standalone daemon's host, or 127.0.0.1 for a socket. */
  readonly portAddresses?: Readonly<Record<string, string>>;
  /** The owner annotation. Installations that share a daemon need different ones. */
  readonly owner?: string;
  /** Whether containers may contain containers. Off by default, because it exposes more of the kernel to a tenant. */
  readonly allowsNesting?: boolean;
  /** Limit of machines per organisation, independent of the platform. */
  readonly instancesPerOrg?: number;
  /**
   * The project that all machines share: the daemon belongs to a supplier, and the certificate is restricted to this project.
   * Nothing outside is read or written. If omitted, each organisation has its own project.
   */
  readonly project?: string;
  /** Where ports are opened if it differs from the published address: behind NAT, or for a host name. */
  readonly listenAddress?: string;
  readonly clock: Clock;
  readonly log: Logger;
};

export type InstanceType = 'container' | 'virtual-machine';

/** The options that determine how machines are created. */
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
