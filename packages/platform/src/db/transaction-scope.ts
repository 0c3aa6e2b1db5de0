import { AsyncLocalStorage } from 'node:async_hooks';

interface TransactionScope {
  readonly name: string;
  open: boolean;
}

const scopes = new AsyncLocalStorage<TransactionScope>();

/** Runs `work` as the inside of a transaction, for `assertOutsideTransaction` to see. */
export async function runInTransactionScope<T>(name: string, work: () => Promise<T>): Promise<T> {
  const scope: TransactionScope = { name, open: true };
  try {
    return await scopes.run(scope, work);
  } finally {
    // Work that was started inside and outlives the transaction carries the scope along; it is outside now.
    scope.open = false;
  }
}

/**
 * Throws when called from within a transaction. A second connection there reads the state from before the
 * transaction and can exhaust the pool; a network call there holds row locks for as long as the peer likes.
 */
export function assertOutsideTransaction(what: string): void {
  const scope = scopes.getStore();
  if (scope?.open) {
    throw new Error(
      `${what} was used inside the transaction "${scope.name}". Use the Tx for queries, ` +
        'and do everything else before it opens or after it commits.',
    );
  }
}
