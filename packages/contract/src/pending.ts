import type { Contract, OperationId } from './contract.ts';
import type { Operation } from './operation.ts';

/** The pieces of work that are still to come, in the words of the plan. */
export const capabilities = [
  'money',
  'fleet',
  'rentals',
  'inference',
  'marketplace',
  'bare-metal-and-volumes',
  'developer-tools',
  'console',
] as const;

export type Capability = (typeof capabilities)[number];

const pendingByCapability = {
  money: [],
  fleet: [],
  rentals: [],
  inference: [],
  marketplace: [],
  'bare-metal-and-volumes': [],
  'developer-tools': [],
  console: [],
} as const satisfies Record<Capability, readonly OperationId[]>;

export type PendingOperationId = (typeof pendingByCapability)[Capability][number];
export type ServedOperationId = Exclude<OperationId, PendingOperationId>;

/**
 * Operations the contract promises and nobody serves yet, each with the capability that will deliver it.
 * The list may only shrink: pending.baseline.json holds it as it first stood and what was delivered since, and a test
 * compares the two.
 */
export const pendingOperations = Object.fromEntries(
  capabilities.flatMap((capability) => pendingByCapability[capability].map((id) => [id, capability])),
) as Readonly<Record<PendingOperationId, Capability>>;

export function isPending(operationId: string): operationId is PendingOperationId {
  return Object.hasOwn(pendingOperations, operationId);
}

/** The processes that serve operations. */
export type ServingProcess = 'api' | 'gateway';

/** Gateways serve inference, and only they do; the api serves everything else. */
export function processOf(operation: Pick<Operation, 'errorFamily'>): ServingProcess {
  return operation.errorFamily === 'inference' ? 'gateway' : 'api';
}

/** The operations that must be served: those of the contract that are not pending; with `by`, those of one process. */
export function servedOperationIds(contract: Contract, by?: ServingProcess): readonly ServedOperationId[] {
  const ids = Object.keys(contract.operations) as OperationId[];
  return ids.filter(
    (id): id is ServedOperationId =>
      !isPending(id) && (by === undefined || processOf(contract.operations[id]) === by),
  );
}

export interface ServedDifference {
  /** Neither pending nor served: promised to callers who will find nothing there. */
  readonly missing: readonly string[];
  /** Served although still listed as pending: the list must shrink. */
  readonly stillPending: readonly string[];
  /** Served and not in the contract at all, or another process's to serve. */
  readonly unknown: readonly string[];
}

/** Compares the contract and the pending list with the operations that a process really serves. */
export function compareServed(
  contract: Contract,
  by: ServingProcess,
  served: Iterable<string>,
  pending: (id: string) => boolean = isPending,
): ServedDifference {
  const really = new Set(served);
  const operations: Readonly<Record<string, Operation>> = contract.operations;
  const isOwn = (id: string): boolean => {
    const operation = operations[id];
    return operation !== undefined && processOf(operation) === by;
  };
  return {
    missing: servedOperationIds(contract, by).filter((id) => !really.has(id)),
    stillPending: [...really].filter(pending),
    unknown: [...really].filter((id) => !isOwn(id)),
  };
}
