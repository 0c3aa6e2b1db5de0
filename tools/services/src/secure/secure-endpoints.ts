import type { NatsRolePermissions } from './nats-permissions.ts';
import type { PostgresLogins } from './postgres-logins.ts';
import type { ValkeyLogins } from './valkey-users.ts';

/** The processes that connect to engines. `admin` is millrace-admin, which also migrates the database. */
export const roles = ['api', 'worker', 'gateway', 'admin'] as const;
export type Role = (typeof roles)[number];

/** Additions to the endpoints of a secure site. Each engine that supports it adds an entry of its own. */
export interface SecureEndpoints {
  /** PEM file with the certificate of the authority that issued the certificates of all engines. */
  readonly caFile: string;
  readonly nats: NatsAccess;
  /** Logins with the rights of each role. `postgresUrl` is the superuser's. */
  readonly postgres: PostgresLogins;
  /** Users with the permissions of each role. `valkeyUrl` is that of a user who may do everything. */
  readonly valkey: ValkeyLogins;
  /** The ACL file, for another server with the same users. */
  readonly valkeyUsersFile: string;
  /** For workers. `restate` of the endpoints has the addresses behind the proxy, which only this machine reaches. */
  readonly restate: RestateAccess;
}

/** The proxy that accepts only the certificate of workers. */
export interface RestateAccess {
  readonly ingressUrl: string;
  readonly adminUrl: string;
  /** For requests to the proxy, and for the handlers, whose certificate Restate verifies. */
  readonly certificateFile: string;
  readonly keyFile: string;
}

/** Issues users with `issueNatsCredentials`. */
export interface NatsAccess {
  readonly accountSeed: string;
  /** With a placeholder for the prefix, see `natsPermissionsFor`. */
  readonly permissions: NatsRolePermissions;
}
