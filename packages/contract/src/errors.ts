import { errorCodes } from './errors/definition.ts';
import type { ErrorDefinition, ErrorEntry, ErrorFamily, ErrorStatus } from './errors/definition.ts';
import { administrationErrors } from './errors/administration.ts';
import { identityErrors } from './errors/identity.ts';
import { inferenceErrors } from './errors/inference.ts';
import { moneyErrors } from './errors/money.ts';
import { rentalErrors } from './errors/rentals.ts';
import { requestErrors } from './errors/request.ts';

export { errorCodes } from './errors/definition.ts';
export type { ErrorCode, ErrorEntry, ErrorStatus } from './errors/definition.ts';

function withCodes<Name extends string>(
  definitions: Readonly<Record<Name, ErrorDefinition>>,
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
  ...administrationErrors,
});

export type Reason = keyof typeof errorRegistry;

export const reasons = Object.keys(errorRegistry) as readonly Reason[];

export function isReason(value: string): value is Reason {
  return Object.hasOwn(errorRegistry, value);
}

/** An operation, as far as the status of a refusal depends on it. */
export interface ErrorContext {
  readonly source: 'interface' | 'own';
  readonly errorFamily: ErrorFamily;
  /** The statuses it declares. */
  readonly errors?: readonly number[];
}

function chosenStatus(entry: ErrorEntry, { source, errorFamily, errors }: ErrorContext): ErrorStatus {
  switch (errorFamily) {
    case 'inference':
      return entry.inferenceStatus ?? entry.status;
    case 'marketplace':
      return entry.marketplaceStatus ?? entry.status;
    case 'v2':
      if (source === 'own') return entry.status;
      // The interface lets some of its reads say that a thing is not there; its writes all say 400.
      if (entry.status === 404 && errors?.includes(404)) return 404;
      return entry.interfaceStatus ?? entry.status;
  }
}

/**
 * The status a reason answers with on a given operation; null stands for a path that is no operation at all.
 * An operation never answers a status it does not declare: what it did not foresee becomes a plain 400 or 500.
 */
export function statusFor(reason: Reason, operation: ErrorContext | null): ErrorStatus {
  const entry = errorRegistry[reason];
  // A retired operation is bound by its list no more: all it ever answers is that it is gone.
  if (operation === null || reason === 'GONE') return entry.status;
  const status = chosenStatus(entry, operation);
  if (operation.errors === undefined || operation.errors.includes(status)) return status;
  return status >= 500 ? 500 : 400;
}

/** Where a reason is explained, relative to the installation. */
export function docUrlFor(reason: Reason): string {
  return `/docs/errors#${reason}`;
}
