import type { Operation } from '@millrace/contract';
import type { FaultTarget } from '../fault/index.ts';

/** `/v2/api-keys/{keyId}` as the router writes it: `/v2/api-keys/:keyId`. */
export function routerPath(path: string): string {
  return path.replaceAll(/\{([A-Za-z][A-Za-z0-9]*)\}/g, ':$1');
}

/** Finds which methods the contract knows for a path. */
export function createMethodFinder(operations: readonly Operation[]): (path: string) => readonly string[] {
  const find = createOperationFinder(operations);
  const methods = [...new Set(operations.map(({ method }) => method))].toSorted();
  return (path) => methods.filter((method) => find(method, path) !== undefined);
}

/**
 * Finds whose error body a path answers with that is not served with the method of the request: that of its operations with other
 * methods, or of the other paths under `/v1`.
 */
export function createTargetFinder(operations: readonly Operation[]): (path: string) => FaultTarget {
  const find = createOperationFinder(operations);
  const methods = [...new Set(operations.map(({ method }) => method))];
  return (path) => {
    const found = methods.map((method) => find(method, path)).find((operation) => operation !== undefined);
    // Not the operation itself: the statuses that the interface allows it do not have 405.
    if (found !== undefined) return { source: 'own', errorFamily: found.errorFamily };
    return path.startsWith('/v1/') ? { source: 'own', errorFamily: 'marketplace' } : null;
  };
}

/** Finds which operation of the contract a request would belong to, served or not. */
export function createOperationFinder(
  operations: readonly Operation[],
): (method: string, path: string) => Operation | undefined {
  const patterns = operations.flatMap((operation) =>
    [operation.path, ...(operation.aliases ?? [])].map((path) => ({ operation, pattern: pathPattern(path) })),
  );
  return (method, path) =>
    patterns.find(({ operation, pattern }) => operation.method === method && pattern.test(path))?.operation;
}

function pathPattern(path: string): RegExp {
  const source = path
    .split('/')
    .map((part) => (/^\{.+\}$/.test(part) ? '[^/]+' : part.replaceAll(/[^A-Za-z0-9_-]/g, '\\$&')))
    .join('/');
  // oxlint-disable-next-line house/linear-regexp -- no two parts without a slash between them, which [^/] does not match
  return new RegExp(`^${source}$`);
}
