import { deprecations } from './deprecations.ts';
import type { Deprecation } from './deprecations.ts';
import type { Operation } from './operation.ts';
import { baselineOperations } from './operations/baseline.ts';
import { extensionOperations } from './operations/extensions.ts';
import { createSchemas } from './records/index.ts';
import type { ContractSchemas } from './records/index.ts';
import { defaultProviders } from './records/provider-data.ts';
import type { ProviderConfig } from './records/provider-data.ts';
import type { Scope } from './scopes.ts';

export interface ContractOptions {
  /** Each provider has an id and the variant that shapes its provider data. */
  readonly providers: readonly ProviderConfig[];
  /** Widens the chat penalties from 0..1 to -2..2. */
  readonly widePenalties?: boolean;
}

type Unnamed = ReturnType<typeof baselineOperations> & ReturnType<typeof extensionOperations>;
type Operations = { readonly [Id in keyof Unnamed]: Unnamed[Id] & { readonly id: Id } };

export type OperationId = keyof Operations;

export interface Contract {
  readonly providers: readonly ProviderConfig[];
  readonly schemas: ContractSchemas;
  /** All operations by id, with literal and schema types. */
  readonly operations: Operations;
  /** Deprecated operations by operation id. */
  readonly deprecations: Readonly<Partial<Record<OperationId, Deprecation>>>;
}

/** Builds the contract of one installation from its configuration. */
export function createContract({ providers, widePenalties = false }: ContractOptions): Contract {
  const schemas = createSchemas({ providers, widePenalties });
  const unnamed: Unnamed = { ...baselineOperations(schemas), ...extensionOperations(schemas) };
  // Assign ids in place: servers compare operations by identity, and a copy would differ in each contract.
  for (const [id, operation] of Object.entries(unnamed)) Object.assign(operation, { id });
  const operations = unnamed as Operations;
  return { providers, schemas, operations, deprecations };
}

export function operationsOf(contract: Contract): readonly Operation[] {
  return Object.values(contract.operations);
}

/** The required scope of each operation. Null admits every key. */
export function scopeTableOf(contract: Contract): Readonly<Record<string, Scope | null>> {
  return Object.fromEntries(operationsOf(contract).map((operation) => [operation.id, operation.scope]));
}

/** The contract with each variant once, under the default provider ids. */
export const contract = createContract({ providers: defaultProviders });
