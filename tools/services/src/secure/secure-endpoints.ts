import type { NatsRolePermissions } from './nats-permissions.ts';

/** The processes that connect to engines. `admin` is millrace-admin, which also migrates the database. */
export const roles = ['api', 'worker', 'gateway', 'admin'] as const;
export type Role = (typeof roles)[number];

/** Additions to the endpoints of a secure site. Each engine that supports it adds an entry of its own. */
export interface SecureEndpoints {
  /** PEM file with the certificate of the authority that issued the certificates of all engines. */
  readonly caFile: string;
  readonly nats: NatsAccess;
}

/** Issues users with `issueNatsCredentials`. */
export interface NatsAccess {
  readonly accountSeed: string;
  /** With a placeholder for the prefix, see `natsPermissionsFor`. */
  readonly permissions: NatsRolePermissions;
}
