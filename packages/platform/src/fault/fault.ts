import { errorRegistry } from '@millrace/contract';
import type { Reason } from '@millrace/contract';

/** One problem of the input, with its path and a code for programs. */
export interface FaultIssue {
  readonly message: string;
  readonly path: readonly (string | number)[];
  readonly code: string;
  /** The part of the request with the problem; `body` by default. Only inference errors show it. */
  readonly location?: 'body' | 'query' | 'path' | 'header';
}

export interface FaultOptions {
  /** Replaces the registry's message. Public: must not reveal data of other tenants. */
  readonly message?: string;
  readonly suggestion?: string;
  readonly issues?: readonly FaultIssue[];
  /** Only for the log. */
  readonly internal?: string;
  readonly cause?: unknown;
  /** Becomes `Retry-After`, rounded up to whole seconds, at least 1. */
  readonly retryAfterSeconds?: number;
  /** Further public fields of the body. They never replace standard fields. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** The only error type for callers. The registry derives status, code and texts from `reason`. */
export class Fault extends Error {
  readonly reason: Reason;
  readonly suggestion: string;
  readonly retryable: boolean;
  readonly issues: readonly FaultIssue[];
  readonly internal: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly extra: Readonly<Record<string, unknown>>;

  constructor(reason: Reason, options: FaultOptions = {}) {
    const entry = errorRegistry[reason];
    super(options.message ?? entry.message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'Fault';
    this.reason = reason;
    this.suggestion = options.suggestion ?? entry.suggestion;
    this.retryable = entry.retryable;
    this.issues = options.issues ?? [];
    this.internal = options.internal;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.extra = options.extra ?? {};
  }
}

export function isFault(error: unknown): error is Fault {
  return error instanceof Fault;
}

/** Reports one invalid field that its schema cannot check. `problem` follows the field name: `must be …`. */
export function invalidField(field: string | FaultIssue['path'], problem: string, code = 'custom'): Fault {
  const path = typeof field === 'string' ? [field] : field;
  return new Fault('VALIDATION_FAILED', {
    message: `${path.join('.')} ${problem}.`,
    issues: [{ path, message: problem, code }],
  });
}
