import type { OperationId } from './contract.ts';

/**
 * What is on its way out. An operation is first deprecated, which changes nothing but headers; after its
 * sunset it answers 410 with its successor, never 404. Entries are never removed from the table, and neither
 * is the operation: it is how a retired path still answers.
 */
export interface Deprecation {
  /** RFC 3339, UTC. */
  readonly deprecatedAt: string;
  /** From this instant on the operation is retired. Left out while no date has been set. */
  readonly sunsetAt?: string;
  /** The path to use instead. */
  readonly successor: `/${string}`;
}

/** By operation id. Nothing is deprecated in this version. */
export const deprecations: Readonly<Partial<Record<OperationId, Deprecation>>> = {};
