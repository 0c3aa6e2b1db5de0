import { z } from 'zod';
import { gpuVerification } from '../node-schemas.ts';
import type { InstanceState } from '../../states/instance.ts';
import { marketplaceOperation, nanoUsd, v2Operation, tags, timestamp } from '../../operation-builders.ts';
import { rentalStep } from '../v2/rental-schemas.ts';

/** The operations on instances and their billing that the interface does not have. */

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
    status: instanceState,
    statusReason: z.string().nullable(),
    statusSince: timestamp,
    createdAt: timestamp,
    startedAt: timestamp.nullable().meta({ description: 'When it was proven usable, and billing began.' }),
    endedAt: timestamp.nullable(),
    nodeName: z.string(),
    clusterName: z.string(),
    region: z.string(),
    supplierId: z.string(),
    gpuModel: z.string(),
    gpuVerification,
    gpuCount: z.int().positive(),
    costPerHourNanoUsd: nanoUsd.meta({ description: 'Of all of its GPUs, as it was when it was ordered.' }),
    costSoFarNanoUsd: nanoUsd.meta({
      description: 'Posted or not, at this moment; the final cost once it has ended.',
    }),
    billingPausedAt: timestamp.nullable().meta({
      description:
        'Since when it is not billed because its machine is not there for you. Null: it is not paused.',
    }),
    sshCommand: z.string().nullable(),
    ports: z.array(z.object({ domain: z.string(), protocol: z.string(), port: z.int().min(1).max(65_535) })),
    image: z.string().nullable(),
    tags,
    expiresAt: timestamp.nullable().meta({ description: 'The end of its time to live.' }),
    maxUsd: z.number().positive().nullable(),
    steps: z.array(rentalStep).meta({
      description: 'How it was brought up and ended, step by step: the last 50, oldest first.',
    }),
  })
  .meta({ id: 'MarketplaceInstanceDetail' });

export const marketplaceExtensions = {
  getMarketplaceInstance: v2Operation('GET /v2/marketplace/instances/{name}', {
    scope: 'marketplace:read',
    summary: 'One marketplace instance: how it came up, what it costs and has cost',
    description: 'Also after it has ended.',
    tags: ['marketplace'],
    params: z.object({
      name: z.string().min(1).max(100).meta({
        description: 'Its name, or the number that the ledger and invoices have it under.',
      }),
    }),
    response: { status: 200, schema: instanceDetail },
    notFoundReason: 'INSTANCE_NOT_FOUND',
  }),
  listPurchaseHistory: marketplaceOperation('GET /billing/purchase_history', {
    aliases: ['/v1/billing/purchase_history'],
    scope: 'billing:read',
    summary: 'The deposits of the organisation, newest first',
    description: 'Payments and grants, the newest 1000 of them; `GET /v2/customer/ledger` lists all of them.',
    tags: ['billing'],
    response: {
      status: 200,
      schema: z.object({ purchase_history: z.array(purchase) }).meta({ id: 'PurchaseHistory' }),
    },
  }),
} as const;
