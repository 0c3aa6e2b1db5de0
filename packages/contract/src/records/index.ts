import { createChatRequest } from './chat.ts';
import { createProviderDataSchema } from './provider-data.ts';
import type { ProviderConfig } from './provider-data.ts';
import { createActiveBareMetalRental, createRentalRecord } from './rental.ts';

export interface SchemaOptions {
  readonly providers: readonly ProviderConfig[];
  readonly widePenalties: boolean;
}

/** The schemas that depend on how an installation is configured. All others are plain constants. */
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
