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

/** Every error reason. Clients switch on reasons, so a reason is never renamed or reused. */
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

/** The properties of an operation that decide the status of an error. */
export interface ErrorContext {
  readonly source: 'interface' | 'own';
  readonly errorFamily: ErrorFamily;
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
      // Some baseline reads declare 404; baseline writes respond with 400 for an absent resource.
      if (entry.status === 404 && errors?.includes(404)) return 404;
      return entry.interfaceStatus ?? entry.status;
  }
}

/** The status of a reason on an operation (null: no operation). An undeclared status becomes 400 or 500. */
export function statusFor(reason: Reason, operation: ErrorContext | null): ErrorStatus {
  const entry = errorRegistry[reason];
  // A retired operation always responds with 410, which its list does not contain.
  if (operation === null || reason === 'GONE') return entry.status;
  const status = chosenStatus(entry, operation);
  if (operation.errors === undefined || operation.errors.includes(status)) return status;
  return status >= 500 ? 500 : 400;
}

/** The path of the documentation of a reason, relative to the installation. */
export function docUrlFor(reason: Reason): string {
  return `/docs/errors#${reason}`;
}
