import { createHash } from 'node:crypto';

/** What makes two requests under one idempotency key the same request. */
export interface RequestIdentity {
  readonly operationId: string;
  readonly mode: string;
  /** In whose name: what one person asked for is not what another asks for in the same words. */
  readonly userId: string;
  readonly params: unknown;
  readonly query: unknown;
  /** As it was sent, not as it was parsed: a default that a later release adds must not change the hash. */
  readonly body: unknown;
}

/** SHA-256 over a canonical form: the order of keys does not matter, everything else does. */
export function hashRequest(request: RequestIdentity): Buffer {
  const { operationId, mode, userId, params, query, body } = request;
  return createHash('sha256')
    .update(canonicalJson([operationId, mode, userId, params, query, body]))
    .digest();
}

/** JSON with the keys of every object in code-unit order. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, item]) => `${JSON.stringify(name)}:${canonicalJson(item)}`);
  return `{${entries.join(',')}}`;
}
