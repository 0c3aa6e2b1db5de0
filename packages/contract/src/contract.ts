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
  /** The configured providers; each names its id and the variant that shapes its provider data. */
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
  /** Every operation of the service by its id, with its literal and schema types. */
  readonly operations: Operations;
  /** What is on its way out, by operation id. */
  readonly deprecations: Readonly<Partial<Record<OperationId, Deprecation>>>;
}

/** The contract of one installation. Everything that depends on its configuration is decided here. */
export function createContract({ providers, widePenalties = false }: ContractOptions): Contract {
  const schemas = createSchemas({ providers, widePenalties });
  const unnamed: Unnamed = { ...baselineOperations(schemas), ...extensionOperations(schemas) };
  // Named in place: an operation that no configuration changes is the same object in every contract, and servers compare it.
  for (const [id, operation] of Object.entries(unnamed)) Object.assign(operation, { id });
  const operations = unnamed as Operations;
  return { providers, schemas, operations, deprecations };
}

/** The operations of a contract as a plain list, for whoever walks over all of them. */
export function operationsOf(contract: Contract): readonly Operation[] {
  return Object.values(contract.operations);
}

/** The scope table: one row per operation. Null admits every key. */
export function scopeTableOf(contract: Contract): Readonly<Record<string, Scope | null>> {
  return Object.fromEntries(operationsOf(contract).map((operation) => [operation.id, operation.scope]));
}

/** The contract with every variant present once, under the default provider ids. */
export const contract = createContract({ providers: defaultProviders });
