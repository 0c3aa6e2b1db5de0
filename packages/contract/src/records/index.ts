import { createChatRequest } from './chat.ts';
import { createProviderDataSchema } from './provider-data.ts';
import type { ProviderConfig } from './provider-data.ts';
import { createActiveBareMetalRental, createRentalRecord } from './rental.ts';

export interface SchemaOptions {
  readonly providers: readonly ProviderConfig[];
  readonly widePenalties: boolean;
}

/** Schemas that depend on the configuration of an installation. All others are constants. */
export function createSchemas({ providers, widePenalties }: SchemaOptions) {
  const providerData = createProviderDataSchema(providers);
  return {
    providerData,
    rentalRecord: createRentalRecord(providerData),
    activeBareMetalRental: createActiveBareMetalRental(providerData),
    chatRequest: createChatRequest({ widePenalties }),
  } as const;
}

export type ContractSchemas = ReturnType<typeof createSchemas>;
