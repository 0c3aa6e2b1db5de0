import type { ResponseBody, Contract, EventData } from '@millrace/contract';
import { toCents, toNearestUsdNumber } from '@millrace/platform/money';
import type { OrgId } from '@millrace/platform/ids';
import {
  runwaySeconds,
  type Balance,
  type BudgetRecord,
  type Deposit,
  type TransferRecord,
} from '../ledger/index.ts';
import type { BalanceView } from './burn-rate.ts';
import { publicCause } from './inference-batches.ts';
import { wholeCount, wholeSeconds, type UsageSum } from './usage.ts';

/** Converts money to the wire: totals as decimal text, cents rounded down, rates as numbers. */

type Operations = Contract['operations'];
type ItemOf<Id extends 'listLedgerEntries' | 'getUsage' | 'listBudgets' | 'adminListTransfers'> =
  ResponseBody<Operations[Id]>['items'][number];

export type WireLedgerKind = ItemOf<'listLedgerEntries'>['kind'];

export function toWireBalance(view: BalanceView): ResponseBody<Operations['getBalance']> {
  return {
    balanceCents: Number(toCents(view.balance, 'down')),
    maxOverdraftCents: Number(toCents(view.overdraft, 'down')),
    balanceNanoUsd: view.balance.toString(),
    heldNanoUsd: view.held.toString(),
    availableNanoUsd: view.available.toString(),
    burnRateUsdPerHour: toNearestUsdNumber(view.burnPerHour),
    runwaySeconds: runwaySeconds(view, view.available),
    frozen: view.frozen,
  };
}

export function toWireEventBalance(view: BalanceView): EventData<'balance.low'> {
  return {
    balanceNanoUsd: view.balance.toString(),
    availableNanoUsd: view.available.toString(),
    burnRateUsdPerHour: toNearestUsdNumber(view.burnPerHour),
    runwaySeconds: runwaySeconds(view, view.available),
  };
}

export function toWireCurrentBalance(balance: Balance): ResponseBody<Operations['getCurrentBalance']> {
  return {
    credits: Number(toCents(balance.balance, 'down')),
    currency: 'usd',
    balance_usd: toNearestUsdNumber(balance.balance),
    balance_nano_usd: balance.balance.toString(),
    held_nano_usd: balance.held.toString(),
  };
}

export function toWirePurchase(
  deposit: Deposit,
): ResponseBody<Operations['listPurchaseHistory']>['purchase_history'][number] {
  return {
    amount: Number(toCents(deposit.amount, 'down')),
    amount_nano_usd: deposit.amount.toString(),
    timestamp: deposit.occurredAt.toISOString(),
    source: deposit.source,
  };
}

export function toWireEntry(transfer: TransferRecord): ItemOf<'listLedgerEntries'> {
  return {
    id: transfer.id,
    occurredAt: transfer.occurredAt.toISOString(),
    kind: wireKind(transfer),
    amountNanoUsd: transfer.amount.toString(),
    balanceAfterNanoUsd: transfer.balanceAfter.toString(),
    cause: publicCause(transfer.cause),
    description: transfer.description,
    reverses: transfer.reverses,
  };
}

export function toWireAdminTransfer(
  transfer: TransferRecord,
  reason: string | null,
): ItemOf<'adminListTransfers'> {
  return { ...toWireEntry(transfer), organisationId: transfer.orgId, reason };
}

/** Transfers of budgets move no money and are never listed. */
function wireKind({ id, kind }: TransferRecord): WireLedgerKind {
  if (kind === 'budget') throw new Error(`Transfer ${id} changes a budget and moves no money.`);
  return kind;
}

export function toWireUsage(sum: UsageSum): ItemOf<'getUsage'> {
  return {
    group: sum.group,
    amountNanoUsd: sum.cost.toString(),
    products: {
      rentals: sum.products.rentals.toString(),
      volumes: sum.products.volumes.toString(),
      instances: sum.products.instances.toString(),
      inference: sum.products.inference.toString(),
      other: sum.products.other.toString(),
    },
    gpuSeconds: wholeSeconds(sum.gpuMs),
    volumeGbSeconds: wholeSeconds(sum.gbMs),
    requestCount: wholeCount(sum.requests),
    tokensPrompt: wholeCount(sum.promptTokens),
    tokensCompletion: wholeCount(sum.completionTokens),
  };
}

export function toWireBudget(budget: BudgetRecord): ItemOf<'listBudgets'> {
  return {
    id: budget.id,
    name: budget.name,
    keyId: budget.keyIds?.at(-1) ?? null,
    period: budget.period,
    limitNanoUsd: budget.limit.toString(),
    spentNanoUsd: budget.spent.toString(),
    periodStart: budget.periodStart.toISOString(),
    periodEnd: budget.periodEnd?.toISOString() ?? null,
    thresholdsPercent: [...budget.thresholdsPercent],
    onExceeded: budget.onExceeded,
    createdAt: budget.createdAt.toISOString(),
  };
}

export function toWireAdminBalance(
  orgId: OrgId,
  balance: Balance,
): ResponseBody<Operations['adminSetOverdraft']> {
  return {
    organisationId: orgId,
    balanceNanoUsd: balance.balance.toString(),
    heldNanoUsd: balance.held.toString(),
    availableNanoUsd: balance.available.toString(),
    maxOverdraftNanoUsd: balance.overdraft.toString(),
    frozen: balance.frozen,
  };
}
