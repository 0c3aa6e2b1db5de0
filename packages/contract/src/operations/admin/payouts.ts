import { z } from 'zod';
import {
  adminOperation,
  auditReason,
  organisationId,
  pageOf,
  pageQuery,
  prefixedId,
} from '../../operation-builders.ts';
import { payout } from '../supplier/earnings.ts';

/** Operator operations: payouts of suppliers. */

const adminPayout = payout
  .extend({ supplierId: prefixedId('sup', 'a supplier'), organisationId, supplierName: z.string() })
  .meta({ id: 'AdminPayout' });

export const adminPayoutOperations = {
  adminListPayouts: adminOperation('GET /v2/admin/payouts', {
    scope: 'admin:read',
    summary: 'List payouts of all suppliers, newest first',
    tags: ['suppliers'],
    query: pageQuery.extend({ status: payout.shape.status.optional() }),
    response: { status: 200, schema: pageOf(adminPayout) },
  }),
  adminSettlePayout: adminOperation('POST /v2/admin/payouts/{payoutId}/settle', {
    scope: 'admin:money',
    summary: 'Record a payout as paid, or reject it',
    description:
      'A payout is settled once: repeating the same outcome returns the payout, and the other outcome is refused with 409. The supplier sees the reason of a rejection.',
    tags: ['suppliers'],
    params: z.object({ payoutId: payout.shape.id }),
    body: z
      .object({
        outcome: z.enum(['paid', 'rejected']),
        reference: z.string().trim().min(1).max(255).nullable().default(null),
        reason: auditReason,
      })
      .meta({ id: 'PayoutSettlement' }),
    response: { status: 200, schema: adminPayout },
    refuses: [409],
    idempotency: 'key',
    notFoundReason: 'PAYOUT_NOT_FOUND',
  }),
} as const;
