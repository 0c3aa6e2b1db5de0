import { identityErrors } from './errors/identity.ts';
import { inferenceErrors } from './errors/inference.ts';
import { moneyErrors } from './errors/money.ts';
import { rentalErrors } from './errors/rentals.ts';
import { requestErrors } from './errors/request.ts';
import type { ErrorFamily } from './operation.ts';

/** The v2 schema name of each status the service answers. `code` in an error body is always one of these. */
export const errorCodes = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  402: 'PAYMENT_REQUIRED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  409: 'CONFLICT',
  410: 'GONE',
  413: 'CONTENT_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  422: 'UNPROCESSABLE_CONTENT',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL_SERVER_ERROR',
  502: 'BAD_GATEWAY',
  503: 'SERVICE_UNAVAILABLE',
  504: 'GATEWAY_TIMEOUT',
} as const;

export type ErrorStatus = keyof typeof errorCodes;
export type ErrorCode = (typeof errorCodes)[ErrorStatus];

/** What the registry knows of one reason. */
export interface ErrorEntry {
  /** On operations of our own. */
  readonly status: ErrorStatus;
  /** On v2 operations the interface lists, which may only answer its statuses plus 429 and 503. */
  readonly interfaceStatus?: ErrorStatus;
  /** On inference operations. */
  readonly inferenceStatus?: ErrorStatus;
  /** On marketplace and billing operations. */
  readonly marketplaceStatus?: ErrorStatus;
  /** The schema name of `status`. */
  readonly code: ErrorCode;
  /** What happened and why, in words for the caller. A thrower may say it more exactly. */
  readonly message: string;
  /** What to do about it. */
  readonly suggestion: string;
  /** True when the same request, sent again unchanged, may succeed. */
  readonly retryable: boolean;
}

type Definition = Omit<ErrorEntry, 'code'>;

function withCodes<Name extends string>(
  definitions: Readonly<Record<Name, Definition>>,
): Readonly<Record<Name, ErrorEntry>> {
  const names = Object.keys(definitions) as Name[];
  const entries = names.map((name) => {
    const definition = definitions[name];
    return [name, { ...definition, code: errorCodes[definition.status] }] as const;
  });
  return Object.fromEntries(entries) as Record<Name, ErrorEntry>;
}

/**
 * Every reason the product answers with, in one place. Each has a section in docs/errors.md; a test compares
 * the two both ways. A reason is never renamed or reused: clients switch on it.
 */
export const errorRegistry = withCodes({
  ...requestErrors,
  ...identityErrors,
  ...moneyErrors,
  ...rentalErrors,
  ...inferenceErrors,
});

export type Reason = keyof typeof errorRegistry;

export const reasons = Object.keys(errorRegistry) as readonly Reason[];

export function isReason(value: string): value is Reason {
  return Object.hasOwn(errorRegistry, value);
}

/** The status a reason answers with on a given operation; null stands for a path that is no operation at all. */
export function statusFor(
  reason: Reason,
  operation: { readonly source: 'interface' | 'own'; readonly errorFamily: ErrorFamily } | null,
): ErrorStatus {
  const entry: ErrorEntry = errorRegistry[reason];
  if (operation === null) return entry.status;
  switch (operation.errorFamily) {
    case 'inference':
      return entry.inferenceStatus ?? entry.status;
    case 'marketplace':
      return entry.marketplaceStatus ?? entry.status;
    case 'v2':
      return operation.source === 'interface' ? (entry.interfaceStatus ?? entry.status) : entry.status;
  }
}

/** Where a reason is explained, relative to the installation. */
export function docUrlFor(reason: Reason): string {
  return `/docs/errors#${reason}`;
}
