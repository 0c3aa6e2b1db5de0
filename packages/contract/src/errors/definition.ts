import type { ErrorEntry } from '../errors.ts';

/** A row of the registry before its `code`, which follows from the status. */
export type ErrorDefinition = Omit<ErrorEntry, 'code'>;
