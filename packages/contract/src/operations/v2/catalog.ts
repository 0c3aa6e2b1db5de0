import { z } from 'zod';
import { nanoUsd, publicOperation, timestamp } from '../../operation-builders.ts';
import { rentalOption, reserveOption } from './rental-schemas.ts';

/** The public catalog for visitors: list prices, without data of any organisation. */

const perMillionTokens = nanoUsd.nullable().meta({
  description: 'Nano-USD per million tokens, as a decimal string. Null: it is not priced by tokens.',
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
      description:
        'Nano-USD for an image of 1024 x 1024 pixels in 25 steps. Null: it does not generate images.',
    }),
    characterNanoUsd: nanoUsd.nullable().meta({
      description: 'Nano-USD per character of speech. Null: it does not generate speech.',
    }),
  })
  .meta({ id: 'CatalogModel' });

const catalogMarketplaceGpu = z
  .object({
    gpuModel: z.string().meta({
      description: 'As the machines report it; if a machine has several models, all of them, joined by +.',
    }),
    machineCount: z.int().positive(),
    gpusFree: z.int().nonnegative(),
    lowestPricePerGpuHour: z.number().nonnegative().nullable().meta({
      description: 'USD per hour for one available GPU. Null: none is available.',
    }),
    lowestPricePerGpuHourNanoUsd: nanoUsd.nullable(),
  })
  .meta({ id: 'CatalogMarketplaceGpu' });

const catalog = z
  .object({
    asOf: timestamp.meta({ description: 'When the data was read; at most 30 seconds ago.' }),
    offers: z.array(rentalOption),
    reserveOptions: z.array(reserveOption),
    models: z.array(catalogModel),
    marketplace: z
      .array(catalogMarketplaceGpu)
      .nullable()
      .meta({ description: 'By GPU model. Null: the machines are not known at the moment.' }),
  })
  .meta({ id: 'Catalog' });

export const catalogOperations = {
  getCatalog: publicOperation('GET /v2/catalog', {
    summary: 'Read what can be rented and called now, without signing in',
    description:
      'Offers, terms, models and machines of live mode at list prices. Responds with 404 if the operator has disabled it.',
    tags: ['catalog'],
    response: { status: 200, schema: catalog, revalidates: true },
    refuses: [404],
  }),
} as const;
