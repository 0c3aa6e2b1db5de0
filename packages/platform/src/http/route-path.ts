import type { Operation } from '@millrace/contract';
import type { FaultTarget } from '../fault/index.ts';

/** Converts `/v2/api-keys/{keyId}` to the router's `/v2/api-keys/:keyId`. */
export function routerPath(path: string): string {
  return path.replaceAll(/\{([A-Za-z][A-Za-z0-9]*)\}/g, ':$1');
}

/** Returns a function that finds the methods of a path. */
export function createMethodFinder(operations: readonly Operation[]): (path: string) => readonly string[] {
  const find = createOperationFinder(operations);
  const methods = [...new Set(operations.map(({ method }) => method))].toSorted();
  return (path) => methods.filter((method) => find(method, path) !== undefined);
}

/** Finds the error family of a path without the request's method: that of its other methods, or of `/v1`. */
export function createTargetFinder(operations: readonly Operation[]): (path: string) => FaultTarget {
  const find = createOperationFinder(operations);
  const methods = [...new Set(operations.map(({ method }) => method))];
  return (path) => {
    const found = methods.map((method) => find(method, path)).find((operation) => operation !== undefined);
    // Not the operation itself, because the interface does not allow it the status 405.
    if (found !== undefined) return { source: 'own', errorFamily: found.errorFamily };
    return path.startsWith('/v1/') ? { source: 'own', errorFamily: 'marketplace' } : null;
  };
}

/** Returns a function that finds the operation of a request, implemented or not. */
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
