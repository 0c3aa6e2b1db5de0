import { z } from 'zod';
import { gpuVerification } from '../node-schemas.ts';
import type { InstanceState } from '../../states/instance.ts';
import {
  livePrice,
  marketplaceOperation,
  nanoUsd,
  v2Operation,
  tags,
  timestamp,
} from '../../operation-builders.ts';
import { rentalStep } from '../v2/rental-schemas.ts';

/** Operations on instances and their billing beyond the baseline. */

const purchase = z.object({
  amount: z.int().meta({ description: 'In whole cents.' }),
  amount_nano_usd: nanoUsd,
  timestamp,
  source: z.string(),
});

const instanceState = z.enum([
  'creating',
  'starting',
  'online',
  'offline',
  'stopping',
  'terminated',
  'failed',
] satisfies InstanceState[]);

const instanceDetail = z
  .object({
    name: z.string(),
    number: z.int().positive().meta({ description: 'Names it in the ledger and on invoices.' }),
    status: instanceState,
    statusReason: z.string().nullable(),
    statusSince: timestamp,
    createdAt: timestamp,
    startedAt: timestamp
      .nullable()
      .meta({ description: 'When it passed its readiness check and billing started.' }),
    endedAt: timestamp.nullable(),
    nodeName: z.string(),
    clusterName: z.string(),
    region: z.string(),
    supplierId: z.string(),
    gpuModel: z.string(),
    gpuVerification,
    gpuCount: z.int().positive(),
    costPerHourNanoUsd: nanoUsd.meta({ description: 'For all of its GPUs, frozen at the order.' }),
    liveCostPerHourNanoUsd: livePrice('For all of its GPUs at the listed price, as in live mode.'),
    costSoFarNanoUsd: nanoUsd.meta({
      description: 'The current cost, posted or not; the final cost after it has ended.',
    }),
    billingPausedAt: timestamp.nullable().meta({
      description: 'Since when billing is paused because its machine is unavailable. Null: it is not paused.',
    }),
    sshCommand: z.string().nullable(),
    ports: z.array(z.object({ domain: z.string(), protocol: z.string(), port: z.int().min(1).max(65_535) })),
    image: z.string().nullable(),
    tags,
    expiresAt: timestamp.nullable().meta({ description: 'The end of its TTL.' }),
    maxUsd: z.number().positive().nullable(),
    steps: z.array(rentalStep).meta({
      description: 'The steps of its start and end: the last 50, oldest first.',
    }),
  })
  .meta({ id: 'MarketplaceInstanceDetail' });

export const marketplaceExtensions = {
  getMarketplaceInstance: v2Operation('GET /v2/marketplace/instances/{name}', {
    scope: 'marketplace:read',
    summary: 'Read one marketplace instance with its steps and cost',
    description: 'Also after it has ended.',
    tags: ['marketplace'],
    params: z.object({
      name: z.string().min(1).max(100).meta({
        description: 'Its name, or its number in the ledger and on invoices.',
      }),
    }),
    response: { status: 200, schema: instanceDetail },
    notFoundReason: 'INSTANCE_NOT_FOUND',
  }),
  listPurchaseHistory: marketplaceOperation('GET /billing/purchase_history', {
    aliases: ['/v1/billing/purchase_history'],
    scope: 'billing:read',
    summary: 'List the deposits of the organisation, newest first',
    description: 'The newest 1000 payments and grants; `GET /v2/customer/ledger` lists all of them.',
    tags: ['billing'],
    response: {
      status: 200,
      schema: z.object({ purchase_history: z.array(purchase) }).meta({ id: 'PurchaseHistory' }),
    },
  }),
} as const;
