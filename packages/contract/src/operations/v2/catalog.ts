import { z } from 'zod';
import { nanoUsd, publicOperation, timestamp } from '../../operation-builders.ts';
import { rentalOption, reserveOption } from './rental-schemas.ts';

/** What can be had, for those who have not signed in yet: list prices, and nothing that is anybody's own. */

const perMillionTokens = nanoUsd.nullable().meta({
  description: 'Nano-USD for a million tokens, as a decimal string. Null: it is not sold by these.',
});

const catalogModel = z
  .object({
    name: z.string(),
    ownedBy: z.string(),
    modality: z.enum(['chat', 'completion', 'image', 'audio']),
    inputModalities: z.array(z.enum(['text', 'image', 'audio'])),
    contextLength: z.int().positive().nullable(),
    maxOutputTokens: z.int().positive().nullable(),
    promptNanoUsdPerMillionTokens: perMillionTokens,
    cachedPromptNanoUsdPerMillionTokens: perMillionTokens,
    completionNanoUsdPerMillionTokens: perMillionTokens,
    imageNanoUsd: nanoUsd.nullable().meta({
      description: 'Nano-USD for an image of 1024 x 1024 pixels in 25 steps. Null: it makes none.',
    }),
    characterNanoUsd: nanoUsd.nullable().meta({
      description: 'Nano-USD for a character of speech. Null: it does not speak.',
    }),
  })
  .meta({ id: 'CatalogModel' });

const catalogMarketplaceGpu = z
  .object({
    gpuModel: z.string().meta({
      description: 'As the machines report it; of a machine with several models all of them, joined by +.',
    }),
    machineCount: z.int().positive(),
    gpusFree: z.int().nonnegative(),
    lowestPricePerGpuHour: z.number().nonnegative().nullable().meta({
      description: 'USD for an hour of one GPU that is free now. Null: none is.',
    }),
    lowestPricePerGpuHourNanoUsd: nanoUsd.nullable(),
  })
  .meta({ id: 'CatalogMarketplaceGpu' });

const catalog = z
  .object({
    asOf: timestamp.meta({ description: 'When all of this was read; never more than 30 seconds ago.' }),
    offers: z.array(rentalOption),
    reserveOptions: z.array(reserveOption),
    models: z.array(catalogModel),
    marketplace: z
      .array(catalogMarketplaceGpu)
      .nullable()
      .meta({ description: 'By GPU model. Null: what the machines are is not known at the moment.' }),
  })
  .meta({ id: 'Catalog' });

export const catalogOperations = {
  getCatalog: publicOperation('GET /v2/catalog', {
    summary: 'What can be rented and called now, without signing in',
    description:
      'Offers, terms, models and machines of the live mode at list prices. Served unless the operator has closed it; then 404.',
    tags: ['catalog'],
    response: { status: 200, schema: catalog, revalidates: true },
    refuses: [404],
  }),
} as const;
