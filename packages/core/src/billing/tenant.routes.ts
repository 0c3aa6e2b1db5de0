import { budgetsMax } from '@millrace/contract';
import { Fault } from '@millrace/platform/fault';
import { decodeCursor, requirePrincipal, toPage, type Principal } from '@millrace/platform/http';
import { parseId, type BudgetId, type KeyId } from '@millrace/platform/ids';
import { z } from 'zod';
import {
  countUnrevokedKeys,
  callContextOf,
  findFundedAt,
  pageById,
  positionFromCursor,
  readCommitted,
  UNREVOKED_KEYS_MAX,
} from '../identity/index.ts';
import {
  countOwnBudgets,
  listBudgets,
  listDeposits,
  listTransfers,
  readBalance,
  type BudgetChanges,
} from '../ledger/index.ts';
import { storedCauseId } from './inference-batches.ts';
import {
  toWireBalance,
  toWireBudget,
  toWireCurrentBalance,
  toWireEntry,
  toWirePurchase,
  toWireUsage,
} from './billing.wire.ts';
import { createOwnBudget, deleteOwnBudget, updateOwnBudget } from './budgets.service.ts';
import { requireAmount } from './amounts.ts';
import { periodOf, type BillingRoutes } from './route-deps.ts';
import { usagePeriod, type PeriodError, type UsageGrouping, type UsagePeriod } from './usage.ts';
import { sumUsage } from './usage.store.ts';

const PURCHASES_MAX = 1_000;
const WINDOW_SECONDS = 60;

/** Balance, ledger, purchases and usage of the caller's organisation in the mode of its key. */
export function serveBalanceAndUsage({ server, operations, db, burnOf }: BillingRoutes): void {
  server.serve(operations.getCurrentBalance, async ({ context }) => {
    const { orgId, mode } = requirePrincipal(context);
    return toWireCurrentBalance(await readBalance(db, orgId, mode, db.clock.now()));
  });

  server.serve(operations.listPurchaseHistory, async ({ context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const deposits = await listDeposits(db, orgId, mode, PURCHASES_MAX);
    return { purchase_history: deposits.map(toWirePurchase) };
  });

  server.serve(operations.getBalance, async ({ context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const now = db.clock.now();
    const [balance, burn] = await Promise.all([
      readBalance(db, orgId, mode, now),
      burnOf(db, orgId, mode, now),
    ]);
    return toWireBalance({ ...balance, ...burn });
  });

  server.serve(operations.listLedgerEntries, async ({ query, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const { limit, kind, causeKind, causeId } = query;
    if (causeId !== undefined && causeKind === undefined) throw causeWithoutKind();
    const filter = {
      mode,
      ...periodOf(query),
      ...(kind === undefined ? {} : { kind }),
      ...(causeKind === undefined ? {} : { cause: causeOfQuery(causeKind, causeId) }),
    };
    const after = positionFromCursor('trf', query.cursor);
    return pageById(await listTransfers(db, orgId, filter, { limit, after }), limit, toWireEntry);
  });

  server.serve(operations.getUsage, async ({ query, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const { limit, groupBy } = query;
    const { from = null, until = null } = periodOf(query);
    const period = requirePeriod(usagePeriod({ from, until }, db.clock.now().getTime()));
    const after = usagePosition(groupBy, query.cursor);
    const rows = await sumUsage(db, orgId, { ...period, mode, groupBy }, { limit, after });
    const positionOf = (row: { readonly group: string }) => ({ by: groupBy, group: row.group });
    return toPage({ rows, limit, toItem: toWireUsage, positionOf });
  });

  server.serve(operations.getLimits, async ({ context }) => {
    const principal = requirePrincipal(context);
    const { orgId, mode } = principal;
    const [fundedAt, keys, budgets] = await Promise.all([
      findFundedAt(db, orgId),
      countUnrevokedKeys(db, orgId),
      countOwnBudgets(db, orgId, mode),
    ]);
    return {
      fundedAt: fundedAt?.toISOString() ?? null,
      rateLimits: rateLimitsOf(principal),
      quotas: [
        { name: 'api-keys', limit: UNREVOKED_KEYS_MAX, used: keys },
        { name: 'budgets', limit: budgetsMax, used: budgets },
      ],
    };
  });
}

/** Budgets of the caller's organisation in the mode of its key. */
export function serveBudgets({ server, operations, db, recallMoney }: BillingRoutes): void {
  server.serve(operations.listBudgets, async ({ query, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const { limit } = query;
    const after = positionFromCursor('bdg', query.cursor);
    return pageById(await listBudgets(db, orgId, mode, { limit, after }), limit, toWireBudget);
  });

  server.serve(operations.createBudget, ({ body, context, transact }) =>
    transact({ name: 'create budget', isolation: readCommitted }, async (tx) => {
      const { keyId, limitNanoUsd, ...rest } = body;
      const budget = await createOwnBudget(
        tx,
        callContextOf(context),
        {
          ...rest,
          keyId: keyId === undefined ? null : requireKeyId(keyId),
          limit: requireAmount(limitNanoUsd, 'limitNanoUsd'),
        },
        { recallMoney },
      );
      return { body: toWireBudget(budget), resource: { kind: 'budget', id: budget.id } };
    }),
  );

  server.serve(operations.updateBudget, ({ params, body, context, transact }) =>
    transact({ name: 'change budget', isolation: readCommitted }, async (tx) => {
      const { name, limitNanoUsd, thresholdsPercent, onExceeded } = body;
      const changes: BudgetChanges = {
        ...(name === undefined ? {} : { name }),
        ...(limitNanoUsd === undefined ? {} : { limit: requireAmount(limitNanoUsd, 'limitNanoUsd') }),
        ...(thresholdsPercent === undefined ? {} : { thresholdsPercent }),
        ...(onExceeded === undefined ? {} : { onExceeded }),
      };
      const id = requireBudgetId(params.budgetId);
      return {
        body: toWireBudget(await updateOwnBudget(tx, callContextOf(context), id, changes, { recallMoney })),
      };
    }),
  );

  server.serve(operations.deleteBudget, ({ params, context, transact }) =>
    transact({ name: 'delete budget', isolation: readCommitted }, async (tx) => {
      await deleteOwnBudget(tx, callContextOf(context), requireBudgetId(params.budgetId));
      return { body: undefined };
    }),
  );
}

/** Uses the names of the rate limit headers. */
function rateLimitsOf({ limits }: Principal) {
  const perMinute = (name: string, limit: number) =>
    ({ name, limit, windowSeconds: WINDOW_SECONDS, unit: 'requests', model: null }) as const;
  const organisation = perMinute('organisation', limits.organisationRpm);
  return limits.keyRpm === null ? [organisation] : [organisation, perMinute('key', limits.keyRpm)];
}

function causeOfQuery(kind: string, id: string | undefined) {
  return id === undefined ? { kind } : { kind, id: storedCauseId(kind, id) };
}

function causeWithoutKind(): Fault {
  const issue = {
    message: 'is required with causeId, because ids are unique only within a kind',
    path: ['causeKind'],
    code: 'required',
    location: 'query',
  } as const;
  return new Fault('VALIDATION_FAILED', { issues: [issue] });
}

const usageCursor = z.object({ by: z.string().max(20), group: z.string().max(300) });

/** A cursor of another grouping belongs to another list. */
function usagePosition(groupBy: UsageGrouping, cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  return decodeCursor(cursor, usageCursor.extend({ by: z.literal(groupBy) })).group;
}

const periodErrorMessages: Readonly<Record<PeriodError, string>> = {
  ends_before_it_begins: 'must be before until',
  too_long: 'must be at most 366 days before until',
};

function requirePeriod(period: UsagePeriod | PeriodError): UsagePeriod {
  if (typeof period !== 'string') return period;
  const issue = {
    message: periodErrorMessages[period],
    path: ['from'],
    code: period,
    location: 'query',
  } as const;
  throw new Fault('VALIDATION_FAILED', { issues: [issue] });
}

function requireBudgetId(text: string): BudgetId {
  const id = parseId('bdg', text);
  if (id === null) throw new Fault('BUDGET_NOT_FOUND');
  return id;
}

function requireKeyId(text: string): KeyId {
  const id = parseId('key', text);
  if (id === null) throw new Fault('API_KEY_NOT_FOUND');
  return id;
}
