import { z } from 'zod';
import { periodQuery } from '../v2/billing.ts';
import {
  nanoUsd,
  pageOf,
  pageQuery,
  positiveNanoUsd,
  prefixedId,
  supplierOperation,
  timestamp,
} from '../../operation-builders.ts';
import { nodeId } from '../node-schemas.ts';

/** Supplier operations: earnings, monthly statements and payouts. */

const statementId = prefixedId('stm', 'a statement');

const machineId = nodeId.nullable().meta({ description: 'Null if the machine is unknown.' });
const gpuSeconds = z.int().meta({ description: 'Below zero if refunds exceed usage in the period.' });

const earnings = z
  .object({
    accruedNanoUsd: nanoUsd.meta({ description: 'Earned by machines in use and not posted yet.' }),
    payableNanoUsd: nanoUsd.meta({
      description:
        'The amount that you can request. Below zero if tenants were refunded after a payout: future earnings make up the difference.',
    }),
    maturingNanoUsd: nanoUsd.meta({
      description: 'Earned so recently that you cannot request it yet. It becomes payable automatically.',
    }),
    requestedNanoUsd: nanoUsd.meta({ description: 'Requested, and neither paid nor rejected yet.' }),
    paidOutNanoUsd: nanoUsd,
    from: timestamp,
    until: timestamp,
    earnedNanoUsd: nanoUsd.meta({
      description:
        'The amount posted from `from` until `until`, less refunds: the sum of `machines` and also of `days`.',
    }),
    machines: z
      .array(z.object({ machineId, gpuSeconds, earnedNanoUsd: nanoUsd }))
      .meta({ description: 'The same per machine.' }),
    days: z.array(z.object({ day: timestamp, gpuSeconds, earnedNanoUsd: nanoUsd })).meta({
      description: 'The same per day (UTC), oldest first, without days that had no earnings.',
    }),
  })
  .meta({ id: 'Earnings' });

const statementFields = {
  id: statementId,
  periodStart: timestamp,
  periodEnd: timestamp,
  grossNanoUsd: nanoUsd,
  feeNanoUsd: nanoUsd,
  netNanoUsd: nanoUsd,
};

const statementSummary = z.object(statementFields).meta({ id: 'StatementSummary' });
const statement = z
  .object({
    ...statementFields,
    lines: z.array(z.object({ machineId, gpuSeconds, grossNanoUsd: nanoUsd, feeNanoUsd: nanoUsd })),
  })
  .meta({ id: 'Statement' });

export const payout = z
  .object({
    id: prefixedId('pyo', 'a payout'),
    amountNanoUsd: nanoUsd,
    status: z.enum(['requested', 'paid', 'rejected']),
    requestedAt: timestamp,
    settledAt: timestamp.nullable(),
    reference: z
      .string()
      .nullable()
      .meta({ description: 'Identifies the payment, such as the number of a bank transfer.' }),
    reason: z.string().nullable().meta({ description: 'Why it was rejected.' }),
  })
  .meta({ id: 'Payout' });

export const earningOperations = {
  supplierGetEarnings: supplierOperation('GET /v2/supplier/earnings', {
    scope: 'supplier:read',
    summary: 'Read the earnings of your machines',
    description: 'Default: since the start of the month (UTC). A period is at most 366 days.',
    tags: ['earnings'],
    query: z.object(periodQuery),
    response: { status: 200, schema: earnings },
  }),
  supplierListStatements: supplierOperation('GET /v2/supplier/statements', {
    scope: 'supplier:read',
    summary: 'List statements, newest first',
    tags: ['earnings'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(statementSummary) },
  }),
  supplierGetStatement: supplierOperation('GET /v2/supplier/statements/{statementId}', {
    scope: 'supplier:read',
    summary: 'Read a statement with its lines',
    description:
      'The amounts posted in a month (UTC), by machine. Its last minutes may be in the next statement.',
    tags: ['earnings'],
    params: z.object({ statementId }),
    response: { status: 200, schema: statement },
    notFoundReason: 'STATEMENT_NOT_FOUND',
  }),
  supplierListPayouts: supplierOperation('GET /v2/supplier/payouts', {
    scope: 'supplier:read',
    summary: 'List payouts, newest first',
    tags: ['earnings'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(payout) },
  }),
  supplierRequestPayout: supplierOperation('POST /v2/supplier/payouts', {
    scope: 'supplier:write',
    summary: 'Request a payout',
    description:
      'The amount is reserved until the operator has paid or rejected it. A request above the payable amount is refused with 409.',
    tags: ['earnings'],
    body: z.object({ amountNanoUsd: positiveNanoUsd }).meta({ id: 'PayoutRequest' }),
    response: { status: 201, schema: payout },
    refuses: [409],
    idempotency: 'key',
  }),
} as const;
