import { errorRegistry } from '@millrace/contract';
import type { Reason } from '@millrace/contract';

/** One thing that is wrong with the input, where it is, and a code that programs can switch on. */
export interface FaultIssue {
  readonly message: string;
  readonly path: readonly (string | number)[];
  readonly code: string;
  /** The part of the request it is in; `body` unless said. Only inference errors show it. */
  readonly location?: 'body' | 'query' | 'path' | 'header';
}

export interface FaultOptions {
  /** Replaces the registry's message. Public: never name what belongs to someone else. */
  readonly message?: string;
  /** Replaces the registry's suggestion. */
  readonly suggestion?: string;
  readonly issues?: readonly FaultIssue[];
  /** For the log only. */
  readonly internal?: string;
  readonly cause?: unknown;
  /** Becomes `Retry-After`; rounded up to whole seconds, at least 1. */
  readonly retryAfterSeconds?: number;
  /** Further public fields of the body; they never replace the standard ones. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/**
 * The one error a caller may see. `reason` decides status, code and default texts through the contract's
 * registry; anything else that is thrown is a bug of ours and answers as `INTERNAL`.
 */
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

/** One field of the input is wrong in a way that its schema could not say. `problem` goes on after its name: `must be …`. */
export function invalidField(field: string | FaultIssue['path'], problem: string, code = 'custom'): Fault {
  const path = typeof field === 'string' ? [field] : field;
  return new Fault('VALIDATION_FAILED', {
    message: `${path.join('.')} ${problem}.`,
    issues: [{ path, message: problem, code }],
  });
}
