import type { Contract, OperationId } from './contract.ts';
import type { Operation } from './operation.ts';

/** The planned capabilities that deliver pending operations. */
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

/** Operations that are not served yet, by capability. Must only shrink; pending.baseline.json has the first list. */
export const pendingOperations = Object.fromEntries(
  capabilities.flatMap((capability) => pendingByCapability[capability].map((id) => [id, capability])),
) as Readonly<Record<PendingOperationId, Capability>>;

export function isPending(operationId: string): operationId is PendingOperationId {
  return Object.hasOwn(pendingOperations, operationId);
}

export type ServingProcess = 'api' | 'gateway';

/** Only gateways serve inference; the API serves everything else. */
export function processOf(operation: Pick<Operation, 'errorFamily'>): ServingProcess {
  return operation.errorFamily === 'inference' ? 'gateway' : 'api';
}

/** The operations that must be served: all that are not pending; with `by`, those of one process. */
export function servedOperationIds(contract: Contract, by?: ServingProcess): readonly ServedOperationId[] {
  const ids = Object.keys(contract.operations) as OperationId[];
  return ids.filter(
    (id): id is ServedOperationId =>
      !isPending(id) && (by === undefined || processOf(contract.operations[id]) === by),
  );
}

export interface ServedDifference {
  /** Neither pending nor served, although the contract promises them. */
  readonly missing: readonly string[];
  /** Served although listed as pending: remove them from the list. */
  readonly stillPending: readonly string[];
  /** Served, but not in the contract or assigned to another process. */
  readonly unknown: readonly string[];
}

/** Compares the contract and the pending list with the operations that a process serves. */
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
