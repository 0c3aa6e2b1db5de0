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

/** Suppliers: what their machines earned, month by month, and how they are paid. */

const statementId = prefixedId('stm', 'a statement');

const machineId = nodeId
  .nullable()
  .meta({ description: 'Null where it is not known which machine it was on.' });
const gpuSeconds = z
  .int()
  .meta({ description: 'Below zero where more was given back than was used in the period.' });

const earnings = z
  .object({
    accruedNanoUsd: nanoUsd.meta({ description: 'Earned by machines in use and not yet posted.' }),
    payableNanoUsd: nanoUsd.meta({
      description:
        'What can be asked for. Below zero when tenants were given back what had been paid out: it is made up for by what is earned next.',
    }),
    maturingNanoUsd: nanoUsd.meta({
      description: 'Earned so recently that it cannot be asked for yet. It becomes payable by itself.',
    }),
    requestedNanoUsd: nanoUsd.meta({ description: 'Asked for and neither paid nor rejected yet.' }),
    paidOutNanoUsd: nanoUsd,
    from: timestamp,
    until: timestamp,
    machines: z
      .array(z.object({ machineId, gpuSeconds, earnedNanoUsd: nanoUsd }))
      .meta({ description: 'What was posted from `from` until `until`, less what was given back.' }),
    days: z.array(z.object({ day: timestamp, gpuSeconds, earnedNanoUsd: nanoUsd })).meta({
      description: 'The same by day (UTC), oldest first, without days on which nothing was earned.',
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
      .meta({ description: 'By which the money can be found, such as the number of a bank transfer.' }),
    reason: z.string().nullable().meta({ description: 'Why it was rejected.' }),
  })
  .meta({ id: 'Payout' });

export const earningOperations = {
  supplierGetEarnings: supplierOperation('GET /v2/supplier/earnings', {
    scope: 'supplier:read',
    summary: 'What the machines earned',
    description:
      'Since the beginning of the month (UTC) unless a period is said; no period is longer than 366 days.',
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
    description: 'What was posted in a month (UTC), by machine. Time of its last minutes may be in the next.',
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
    summary: 'Ask for a payout',
    description:
      'It is set aside until the operator has paid or rejected it. More than is payable answers 409.',
    tags: ['earnings'],
    body: z.object({ amountNanoUsd: positiveNanoUsd }).meta({ id: 'PayoutRequest' }),
    response: { status: 201, schema: payout },
    refuses: [409],
    idempotency: 'key',
  }),
} as const;
