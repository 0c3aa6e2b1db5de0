import { z } from 'zod';
import { withoutBidiControls } from '../../bidi-text.ts';
import {
  keyId,
  nanoUsd,
  noContent,
  v2Operation,
  pageOf,
  pageQuery,
  positiveNanoUsd,
  prefixedId,
  timestamp,
  resourceRef,
} from '../../operation-builders.ts';

/** Customer operations on money: balance, ledger, usage, budgets and limits. */

export const transferId = prefixedId('trf', 'a transfer');
const budgetId = prefixedId('bdg', 'a budget');

const balance = z
  .object({
    balanceCents: z.int().meta({ description: 'The balance in whole cents, rounded down.' }),
    maxOverdraftCents: z.int().nonnegative(),
    balanceNanoUsd: nanoUsd,
    heldNanoUsd: nanoUsd,
    availableNanoUsd: nanoUsd.meta({ description: 'The amount that new work can use: balance less holds.' }),
    burnRateUsdPerHour: z.number().nonnegative(),
    runwaySeconds: z.int().nonnegative().nullable().meta({
      description:
        'How long everything can run at the current rate, including existing holds; null if nothing is being spent.',
    }),
    frozen: z.boolean().meta({
      description:
        'Whether spending is blocked, for example after a disputed payment; only the operator can change that.',
    }),
  })
  .meta({ id: 'Balance' });

export const ledgerKind = z
  .enum([
    'top_up',
    'grant',
    'adjustment',
    'refund',
    'reversal',
    'charge',
    'credit',
    'payout',
    'clawback',
    'expiry',
  ])
  .meta({ id: 'LedgerEntryKind', 'x-extensible': true });

export const ledgerEntry = z
  .object({
    id: transferId,
    occurredAt: timestamp,
    kind: ledgerKind,
    amountNanoUsd: nanoUsd.meta({ description: 'The signed change of the balance.' }),
    balanceAfterNanoUsd: nanoUsd,
    cause: resourceRef.meta({
      description:
        'The rental, volume, batch of inference requests or operator request behind the entry. `GET /v2/usage/batches/{batchId}/requests` lists the requests of a batch.',
    }),
    description: z.string(),
    reverses: transferId.nullable(),
  })
  .meta({ id: 'LedgerEntry' });

export const periodQuery = {
  from: timestamp.optional().meta({ description: 'From this time.' }),
  until: timestamp.optional().meta({ description: 'Before this time.' }),
};

const usageRow = z
  .object({
    group: z.string().meta({ description: 'The day, rental, volume, model or key of the row.' }),
    amountNanoUsd: nanoUsd,
    products: z
      .object({
        rentals: nanoUsd,
        volumes: nanoUsd,
        instances: nanoUsd,
        inference: nanoUsd,
        other: nanoUsd,
      })
      .meta({ description: 'The amount per product; the amounts add up to `amountNanoUsd`.' }),
    gpuSeconds: z.int().nonnegative(),
    volumeGbSeconds: z.int().nonnegative(),
    requestCount: z.int().nonnegative(),
    tokensPrompt: z.int().nonnegative(),
    tokensCompletion: z.int().nonnegative(),
  })
  .meta({ id: 'UsageRow' });

const budgetName = z.string().trim().min(1).max(100);
const budgetPeriod = z.enum(['hour', 'day', 'week', 'month', 'total']);
const thresholdsPercent = z.array(z.int().min(1).max(100)).max(10).meta({
  description: 'Shares of the budget at which `budget.threshold` is sent.',
});
const onExceeded = z.enum(['notify', 'stop_new_work', 'stop_everything']).meta({
  description:
    '`notify` only sends events; `stop_new_work` also refuses new work; `stop_everything` also refuses to extend running work.',
});

export const budgetsMax = 50;

/** The maximum total of the limits of an organisation’s budgets, including those of its keys, in each mode. */
export const budgetLimitsMaxUsd = 100_000_000;

const budget = z
  .object({
    id: budgetId,
    name: budgetName,
    keyId: keyId.nullable().meta({
      description:
        'The API key whose spending it counts, the newest if the key was rotated; null counts the whole organisation.',
    }),
    period: budgetPeriod,
    limitNanoUsd: nanoUsd,
    spentNanoUsd: nanoUsd.meta({
      description: 'Charged in this period, including holds for work in progress.',
    }),
    periodStart: timestamp,
    periodEnd: timestamp.nullable(),
    thresholdsPercent,
    onExceeded,
    createdAt: timestamp,
  })
  .meta({ id: 'Budget' });

const limits = z
  .object({
    fundedAt: timestamp.nullable().meta({
      description: 'When the first deposits raised the rate limit of the organisation; null before.',
    }),
    rateLimits: z.array(
      z.object({
        name: z.string(),
        limit: z.int().positive(),
        windowSeconds: z.int().positive(),
        unit: z.enum(['requests', 'tokens']),
        model: z.string().nullable(),
      }),
    ),
    quotas: z.array(
      z.object({
        name: z.string().meta({ examples: ['api-keys', 'budgets', 'live-rentals'] }),
        limit: z.int().nonnegative().nullable().meta({ description: 'Null: no limit.' }),
        used: z.int().nonnegative(),
      }),
    ),
  })
  .meta({ id: 'Limits' });

const budgetParams = z.object({ budgetId });

const balanceOperations = {
  getBalance: v2Operation('GET /v2/customer/balance', {
    scope: 'billing:read',
    summary: 'Read the balance, its holds and the runway',
    tags: ['customer'],
    response: { status: 200, schema: balance },
  }),
  listLedgerEntries: v2Operation('GET /v2/customer/ledger', {
    scope: 'billing:read',
    summary: 'List all changes of the balance with their causes, newest first',
    tags: ['customer'],
    query: pageQuery.extend({
      ...periodQuery,
      kind: ledgerKind.optional(),
      causeKind: z.string().min(1).max(64).optional(),
      causeId: z.string().min(1).max(100).optional(),
    }),
    response: { status: 200, schema: pageOf(ledgerEntry) },
  }),
  getUsage: v2Operation('GET /v2/customer/usage', {
    scope: 'billing:read',
    summary: 'Read usage and cost, grouped',
    description:
      'Days are in UTC and listed newest first; other groups are listed by name. Without `from`, the period is the 31 days before `until`. A period is at most 366 days.',
    tags: ['customer'],
    query: pageQuery.extend({
      ...periodQuery,
      groupBy: z.enum(['day', 'rental', 'volume', 'model', 'key']).default('day'),
    }),
    response: { status: 200, schema: pageOf(usageRow) },
  }),
  getLimits: v2Operation('GET /v2/customer/limits', {
    scope: 'billing:read',
    summary: 'Read the rate limits and quotas of the organisation and their use',
    tags: ['customer'],
    response: { status: 200, schema: limits },
  }),
} as const;

const budgetOperations = {
  listBudgets: v2Operation('GET /v2/customer/budgets', {
    scope: 'billing:read',
    summary: 'List budgets',
    tags: ['customer'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(budget) },
  }),
  createBudget: v2Operation('POST /v2/customer/budgets', {
    scope: 'billing:write',
    summary: 'Create a budget',
    description: `An organisation has at most ${budgetsMax} budgets. The total of all budgets and key limits is at most ${budgetLimitsMaxUsd} USD. Periods are in UTC: whole hours, days, weeks from Monday and months.`,
    tags: ['customer'],
    body: z
      .object({
        name: withoutBidiControls(budgetName),
        keyId: keyId.optional().meta({
          description: 'Counts only the spending of this API key and of the keys it is rotated to.',
        }),
        period: budgetPeriod,
        limitNanoUsd: positiveNanoUsd,
        thresholdsPercent: thresholdsPercent.default([50, 75, 100]),
        onExceeded: onExceeded.default('notify'),
      })
      .meta({ id: 'BudgetCreate' }),
    response: { status: 201, schema: budget },
    idempotency: 'key',
    notFoundReason: 'API_KEY_NOT_FOUND',
  }),
  updateBudget: v2Operation('PATCH /v2/customer/budgets/{budgetId}', {
    scope: 'billing:write',
    summary: 'Change a budget',
    tags: ['customer'],
    params: budgetParams,
    body: z
      .object({
        name: withoutBidiControls(budgetName).optional(),
        limitNanoUsd: positiveNanoUsd.optional(),
        thresholdsPercent: thresholdsPercent.optional(),
        onExceeded: onExceeded.optional(),
      })
      .meta({ id: 'BudgetUpdate' }),
    response: { status: 200, schema: budget },
    refuses: [409],
    notFoundReason: 'BUDGET_NOT_FOUND',
  }),
  deleteBudget: v2Operation('DELETE /v2/customer/budgets/{budgetId}', {
    scope: 'billing:write',
    summary: 'Delete a budget',
    tags: ['customer'],
    params: budgetParams,
    response: noContent,
    refuses: [409],
    notFoundReason: 'BUDGET_NOT_FOUND',
  }),
} as const;

export const billingOperations = { ...balanceOperations, ...budgetOperations } as const;
