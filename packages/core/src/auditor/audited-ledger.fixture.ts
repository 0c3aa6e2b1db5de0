import type { Db } from '@millrace/platform/db';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import {
  fromUuid,
  toUuid,
  type BudgetId,
  type HoldId,
  type LedgerAccountId,
  type OrgId,
  type TransferId,
} from '@millrace/platform/ids';
import { createOrganisation, testIds } from '@millrace/testing';
import {
  applyLedger,
  createBudget,
  requireLedgerSuccess,
  type CreditCommand,
  type LedgerSuccess,
  type LedgerCommand,
} from '../ledger/index.ts';

/** Builds a ledger with a few transfers, holds and budgets of every kind, through the real ledger. */

export const usd = (amount: number): NanoUsd => nanoUsd(BigInt(Math.round(amount * 1_000_000_000)));

let steps = 0;

type DebitCommand = Extract<LedgerCommand, { do: 'debit' }>;

/** The fields of every command; each call is another step. */
export function ledgerCommandBase(orgId: OrgId, id = 'one') {
  steps += 1;
  return { orgId, mode: 'live', cause: { kind: 'rental', id }, step: String(steps) } as const;
}

export async function apply(db: Db, ...commands: LedgerCommand[]): Promise<readonly LedgerSuccess[]> {
  const results = await db.transaction({ name: 'fixture', isolation: 'read committed' }, (tx) =>
    applyLedger(tx, commands),
  );
  return results.map((result) => requireLedgerSuccess(result));
}

export function holdOf(done: LedgerSuccess | undefined): HoldId {
  if (done?.holdId === null || done === undefined) throw new Error('The result has no hold.');
  return done.holdId;
}

export function transferOf(done: LedgerSuccess | undefined): TransferId {
  if (done?.transferId === null || done === undefined) throw new Error('The result has no transfer.');
  return done.transferId;
}

export const grant = (orgId: OrgId, amount: NanoUsd): CreditCommand => ({
  ...ledgerCommandBase(orgId),
  do: 'credit',
  kind: 'grant',
  amount,
  from: [{ account: { kind: 'grants' }, amount }],
  description: 'Grant',
});

const revenue = (amount: NanoUsd) => [{ account: { kind: 'revenue', product: 'rental' }, amount }] as const;

export const charge = (orgId: OrgId, amount: NanoUsd): DebitCommand => ({
  ...ledgerCommandBase(orgId),
  do: 'debit',
  kind: 'charge',
  amount,
  to: revenue(amount),
  whenShort: 'refuse',
  description: 'Work',
});

export const hold = (orgId: OrgId, amount: NanoUsd): LedgerCommand => ({
  ...ledgerCommandBase(orgId),
  do: 'hold',
  amount,
  demand: 'new',
});

export const post = (
  orgId: OrgId,
  holdId: HoldId,
  amount: NanoUsd,
  afterwards: 'keep' | 'close',
): LedgerCommand => ({
  ...ledgerCommandBase(orgId),
  do: 'post',
  holdId,
  amount,
  to: revenue(amount),
  afterwards,
  description: 'Work',
});

export interface AuditedLedger {
  readonly orgId: OrgId;
  readonly supplierId: OrgId;
  readonly credit: LedgerAccountId;
  readonly revenue: LedgerAccountId;
  readonly budget: BudgetId;
  readonly budgetAccount: LedgerAccountId;
  /** An id that no budget has. */
  readonly spareBudget: BudgetId;
  readonly charged: TransferId;
  readonly chargedAccounts: readonly LedgerAccountId[];
  /** Posted from the closed hold, and reversed afterwards. */
  readonly posted: TransferId;
  readonly refunded: TransferId;
  readonly reversed: TransferId;
  readonly openHold: HoldId;
  readonly idleHold: HoldId;
  readonly closedHold: HoldId;
}

export async function seedAuditedLedger(db: Db): Promise<AuditedLedger> {
  const orgId = await createOrganisation(db);
  const supplierId = await createOrganisation(db);
  const limits = { orgId, mode: 'live', name: 'all', keyIds: null, thresholdsPercent: [50] } as const;
  const budget = await db.transaction({ name: 'fixture', isolation: 'read committed' }, (tx) =>
    createBudget(tx, { ...limits, period: 'month', limit: usd(1_000), onExceeded: 'stop_new_work' }),
  );
  await apply(db, grant(orgId, usd(50)), {
    ...grant(orgId, usd(5)),
    promo: { priority: 10, expiresAt: null },
  });
  // The first hold takes all of the promotional credit, so that the others are in the organisation's own money alone.
  const held = await apply(db, hold(orgId, usd(8)), hold(orgId, usd(7)), hold(orgId, usd(2)));
  const [openHold, closedHold, idleHold] = [holdOf(held[0]), holdOf(held[1]), holdOf(held[2])];
  const [, posted] = await apply(
    db,
    post(orgId, openHold, usd(3), 'keep'),
    post(orgId, closedHold, usd(5), 'close'),
  );
  const [charged, shared] = await apply(db, charge(orgId, usd(4)), {
    ...charge(orgId, usd(6)),
    to: [
      { account: { kind: 'supplier_payable', orgId: supplierId }, amount: usd(5) },
      { account: { kind: 'platform_fee' }, amount: usd(1) },
    ],
  });
  const undo = { description: 'Undone' } as const;
  const undone = await apply(
    db,
    { ...ledgerCommandBase(orgId), ...undo, do: 'refund', transferId: transferOf(shared), amount: usd(2) },
    { ...ledgerCommandBase(orgId), ...undo, do: 'reverse', transferId: transferOf(posted) },
  );
  const accounts = await accountsOf(db, transferOf(charged));
  const accountOf = (kind: string): LedgerAccountId => {
    const id = accounts.get(kind);
    if (id === undefined) throw new Error(`The charge has no ${kind} account.`);
    return id;
  };
  return {
    orgId,
    supplierId,
    credit: accountOf('credit'),
    revenue: accountOf('revenue'),
    budget: budget.id,
    budgetAccount: accountOf('limit'),
    spareBudget: testIds.next('bdg'),
    charged: transferOf(charged),
    chargedAccounts: [...accounts.values()],
    posted: transferOf(posted),
    refunded: transferOf(undone[0]),
    reversed: transferOf(undone[1]),
    openHold,
    idleHold,
    closedHold,
  };
}

async function accountsOf(db: Db, transferId: TransferId): Promise<ReadonlyMap<string, LedgerAccountId>> {
  const rows = await db.kysely
    .selectFrom('ledger_entries')
    .innerJoin('ledger_accounts', 'ledger_accounts.id', 'ledger_entries.account_id')
    .select(['ledger_accounts.id', 'ledger_accounts.kind'])
    .where('ledger_entries.transfer_id', '=', toUuid(transferId))
    .execute();
  return new Map(rows.map((row) => [row.kind, fromUuid('lac', row.id)]));
}
