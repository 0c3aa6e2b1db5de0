import type { OperationId } from './contract.ts';

/**
 * A deprecated operation. Only its headers change until its sunset; afterwards it responds with 410 and its
 * successor, never 404. Entries and their operations are never removed, because a retired path must still
 * respond.
 */
export interface Deprecation {
  /** RFC 3339, UTC. */
  readonly deprecatedAt: string;
  /** The operation is retired from this time. Absent if no date is set. */
  readonly sunsetAt?: string;
  readonly successor: `/${string}`;
}

/** By operation id. No operation is deprecated in this version. */
export const deprecations: Readonly<Partial<Record<OperationId, Deprecation>>> = {};
