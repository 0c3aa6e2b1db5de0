import { createHash } from 'node:crypto';

/** The fields that identify a request under an idempotency key. */
export interface RequestIdentity {
  readonly operationId: string;
  readonly mode: string;
  /** Requests of different users are different, even with the same content. */
  readonly userId: string;
  readonly params: unknown;
  readonly query: unknown;
  /** The raw body, because defaults that a later release adds must not change the hash. */
  readonly body: unknown;
}

/** SHA-256 of the canonical JSON, which is independent of the order of keys. */
export function hashRequest(request: RequestIdentity): Buffer {
  const { operationId, mode, userId, params, query, body } = request;
  return createHash('sha256')
    .update(canonicalJson([operationId, mode, userId, params, query, body]))
    .digest();
}

/** JSON with sorted keys. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, item]) => `${JSON.stringify(name)}:${canonicalJson(item)}`);
  return `{${entries.join(',')}}`;
}
