import { join } from 'node:path';

/** The ports of an installation on one machine. All but those of the proxy listen on loopback. */
export interface Ports {
  readonly postgres: number;
  readonly nats: number;
  readonly natsMonitor: number;
  readonly valkey: number;
  readonly restateIngress: number;
  readonly restateAdmin: number;
  readonly restateFabric: number;
  readonly workerHandlers: number;
  readonly workerHealth: number;
  readonly api: number;
  readonly gateway: number;
  readonly gatewayHealth: number;
}

export const defaultPorts: Ports = {
  postgres: 5432,
  nats: 4222,
  natsMonitor: 8222,
  // Debian's own valkey-server may use 6379.
  valkey: 6390,
  restateIngress: 8180,
  restateAdmin: 9070,
  restateFabric: 5122,
  workerHandlers: 9080,
  workerHealth: 8081,
  api: 8080,
  gateway: 8090,
  gatewayHealth: 8083,
};

export interface Machine {
  readonly name: string;
  /** IPv4, reachable from the other machines. */
  readonly address: string;
}

/** The machines of an installation on three machines. */
export interface MachineFacts {
  readonly all: readonly Machine[];
  readonly self: Machine;
  /** Restate forms a new cluster on this machine, which the others join. */
  readonly isFirst: boolean;
}

/** The facts on which the files of an installation depend. */
export interface InstallationFacts {
  readonly folder: string;
  /** Parent of the folders in which NATS, Valkey and Restate store data. */
  readonly stateFolder: string;
  readonly ports: Ports;
  readonly publicUrl: string;
  /** Without IPv6, the proxy could not start with an address of it. */
  readonly hasIpv6: boolean;
  /** Users see it in the console and in emails. */
  readonly name: string;
  readonly cell: number;
  readonly natsPrefix: string;
  /** Null: the installation is on one machine. */
  readonly machines: MachineFacts | null;
  /** The folder of PostgreSQL's programs, which Patroni starts. Only for three machines. */
  readonly postgresPrograms: string;
}

/** The roles with a system user `millrace-ROLE` and secrets of their own. */
export type ProcessRole = 'api' | 'worker' | 'gateway';
export const processRoleNames = ['api', 'worker', 'gateway'] as const satisfies readonly ProcessRole[];

/** The name in the certificates of apis and gateways, which the proxy verifies. */
export const upstreamName = 'millrace.internal';

export const databaseName = 'millrace';

export const groupOf = (role: string): string => `millrace-${role}`;

/** Each group owns files, and the package creates it. */
export const groupPackages: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['api', 'worker', 'gateway', 'nats', 'valkey', 'restate', 'proxy'].map((role) => [
      groupOf(role),
      'millrace-server',
    ]),
  ),
  postgres: 'postgresql',
};

/** The groups that only three machines need. */
export const machineGroups = ['etcd', 'internal'].map(groupOf);

export const caFileOf = (folder: string): string => join(folder, 'ca.pem');
