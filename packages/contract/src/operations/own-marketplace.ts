import { z } from 'zod';
import { marketplace, nanoUsd, timestamp } from './own-kit.ts';

/** The billing operation of v1 that the interface does not have. */

const purchase = z.object({
  amount: z.int().meta({ description: 'In whole cents.' }),
  amount_nano_usd: nanoUsd,
  timestamp,
  source: z.string(),
});

export const marketplaceOwnOperations = {
  listPurchaseHistory: marketplace({
    id: 'listPurchaseHistory',
    method: 'GET',
    path: '/billing/purchase_history',
    aliases: ['/v1/billing/purchase_history'],
    scope: 'billing:read',
    summary: 'The deposits of the organisation, newest first',
    description: 'Payments and grants, the newest 1000 of them; `GET /v2/customer/ledger` lists all of them.',
    tags: ['billing'],
    response: {
      status: 200,
      schema: z.object({ purchase_history: z.array(purchase) }).meta({ id: 'PurchaseHistory' }),
    },
    idempotency: 'none',
  }),
} as const;
