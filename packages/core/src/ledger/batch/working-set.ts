import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import { systemAccountId, type Account, type SystemAccountRef } from './accounts.ts';
import { usedPercent, type AccountPart } from './draw.ts';
import type {
  Destination,
  LedgerSuccess,
  LedgerCommand,
  LedgerRefused,
  RejectionReason,
  TransferKind,
  UsageQuantities,
} from '../model/ledger.ts';
import { bookingTimeMs } from '../model/months.ts';
import { periodAt } from '../model/periods.ts';

/**
 * The locked rows of one batch in memory. Decision functions change them without I/O, and the store writes them, so
 * that a batch of one and a batch of hundreds use the same code.
 */

export interface Wallet {
  readonly orgId: string;
  readonly mode: Mode;
  readonly credit: Account;
  /** The credit account first, then promotional accounts in no particular order. */
  readonly money: Account[];
  readonly limits: readonly Account[];
}

export interface Hold {
  readonly id: string;
  readonly orgId: string;
  readonly mode: Mode;
  readonly key: string;
  readonly causeKind: string;
  readonly causeId: string;
  readonly keyId: string | null;
  readonly isNew: boolean;
  /** Held amounts by account id. Money parts sum to `held`; a budget part equals `held`. */
  readonly amounts: Map<string, bigint>;
  held: bigint;
  posted: bigint;
  closedAtMs: number | null;
  touched: boolean;
}

/** A transfer that is stored or that this batch will store. */
export interface RecordedTransfer {
  readonly id: string;
  readonly mode: Mode;
  readonly kind: TransferKind;
  readonly amount: bigint;
  readonly balanceAfter: bigint;
  readonly holdId: string | null;
  readonly shortfall: bigint;
}

export interface UndoableTransfer {
  readonly id: string;
  readonly orgId: string;
  readonly mode: Mode;
  readonly kind: TransferKind;
  readonly keyId: string | null;
  readonly entries: readonly { readonly accountId: string; readonly amount: bigint }[];
  /** Sums of the amounts that refunds and reversals moved back, by account id. */
  readonly undone: Map<string, bigint>;
  reversed: boolean;
  /** A clawback whose missing part the operator does not claim. */
  readonly isWrittenOff: boolean;
}

export interface NewTransfer extends RecordedTransfer {
  readonly orgId: string;
  readonly key: string;
  readonly causeKind: string;
  readonly causeId: string;
  readonly reverses: string | null;
  readonly keyId: string | null;
  readonly description: string;
  readonly usage: UsageQuantities | null;
  readonly occurredAtMs: number;
}

export interface NewEntry {
  readonly transferId: string;
  readonly accountId: string;
  readonly amount: bigint;
  readonly seq: bigint;
  readonly balanceAfter: bigint;
}

/** A budget passed a threshold. Its event is written in the same transaction. */
export interface BudgetNotice {
  readonly orgId: string;
  readonly mode: Mode;
  readonly limit: Account;
  readonly thresholdPercent: number;
}

export interface WorkingSet {
  readonly nowMs: number;
  readonly shard: number;
  readonly nextUuid: () => string;
  readonly accounts: Map<string, Account>;
  /** Keyed by the public organisation id and the mode; see `walletKeyOf`. */
  readonly wallets: Map<string, Wallet>;
  readonly payables: Map<string, Account>;
  readonly holds: Map<string, Hold>;
  readonly holdsByKey: Map<string, Hold>;
  readonly transfersByKey: Map<string, RecordedTransfer>;
  readonly undoable: Map<string, UndoableTransfer>;
  readonly newTransfers: NewTransfer[];
  readonly newEntries: NewEntry[];
  readonly notices: BudgetNotice[];
}

export const walletKeyOf = (orgId: string, mode: Mode): string => `${orgId}:${mode}`;
export const scopedKey = (orgId: string, key: string): string => `${orgId}/${key}`;

type CommandStep = Pick<LedgerCommand, 'cause' | 'step'>;

/** The idempotency key. The cause is its prefix, so the key's index also finds all transfers of a cause. */
export function commandKeyOf({ cause, step }: CommandStep): string {
  return `${cause.kind}:${cause.id}:${step}`;
}

export function walletFor(slice: WorkingSet, { orgId, mode }: LedgerCommand): Wallet {
  return requireLoaded(slice.wallets.get(walletKeyOf(orgId, mode)), `the accounts of ${orgId}`);
}

/** The keys of the batch under which no transfer or hold is stored or will be stored. */
export function unrecordedKeysOf(
  slice: WorkingSet,
  commands: readonly LedgerCommand[],
): readonly { readonly orgId: string; readonly key: string }[] {
  return commands.flatMap((command) => {
    if (command.do === 'resize' || command.do === 'close') return [];
    const { orgId } = walletFor(slice, command);
    const key = commandKeyOf(command);
    const recorded = command.do === 'hold' ? slice.holdsByKey : slice.transfersByKey;
    return recorded.has(scopedKey(orgId, key)) ? [] : [{ orgId, key }];
  });
}

/** Throws if a row was not loaded: that is a bug in the ledger, not an error of the caller. */
export function requireLoaded<T>(found: T | undefined, what: string): T {
  if (found === undefined) throw new Error(`The ledger did not load ${what}.`);
  return found;
}

export function findSystemAccount(slice: WorkingSet, account: SystemAccountRef, mode: Mode): Account {
  const id = systemAccountId(account, mode, slice.shard);
  return requireLoaded(slice.accounts.get(id), `the ${account.kind} account`);
}

export function findDestination(slice: WorkingSet, account: Destination, mode: Mode): Account {
  if (account.kind !== 'supplier_payable') return findSystemAccount(slice, account, mode);
  return payableOf(slice, { orgId: toUuid(account.orgId), mode });
}

export function limitsFor(wallet: Wallet, keyId: string | null): readonly Account[] {
  if (wallet.limits.length === 0) return wallet.limits;
  return wallet.limits.filter(({ budget }) => {
    if (budget === null) return false;
    return budget.keyIds === null || (keyId !== null && budget.keyIds.includes(keyId));
  });
}

export function totalBalanceOf(wallet: Wallet): bigint {
  return wallet.money.reduce((sum, account) => sum + account.balance, 0n);
}

/** Signed changes, one entry per account. A list is faster than a map for so few accounts. */
export class Legs {
  readonly #accounts: Account[] = [];
  readonly #amounts: bigint[] = [];

  add(account: Account, amount: bigint): void {
    const index = this.#accounts.indexOf(account);
    if (index === -1) {
      this.#accounts.push(account);
      this.#amounts.push(amount);
    } else this.#amounts[index] = (this.#amounts[index] ?? 0n) + amount;
  }

  take(amounts: readonly AccountPart[]): void {
    for (const part of amounts) this.add(part.account, -part.amount);
  }

  changeOf(account: Account): bigint {
    return this.#amounts[this.#accounts.indexOf(account)] ?? 0n;
  }

  changeNothing(): boolean {
    return this.#amounts.every((amount) => amount === 0n);
  }

  /** Calls back for each non-zero change, in insertion order. */
  forEach(callback: (account: Account, amount: bigint) => void): void {
    this.#accounts.forEach((account, index) => {
      const amount = this.#amounts[index] ?? 0n;
      if (amount !== 0n) callback(account, amount);
    });
  }
}

export interface TransferFields {
  readonly wallet: Wallet;
  readonly kind: TransferKind;
  readonly command: CommandStep;
  readonly amount: bigint;
  readonly description: string;
  readonly holdId?: string | null;
  readonly reverses?: string | null;
  readonly keyId?: string | null;
  readonly usage?: UsageQuantities | null;
  readonly usedBy?: Date | undefined;
  readonly shortfall?: bigint;
}

/** The account with a supplier's earnings; negative if refunds exceed the unpaid earnings. */
export function payableOf(slice: WorkingSet, { orgId, mode }: Pick<Wallet, 'orgId' | 'mode'>): Account {
  return requireLoaded(slice.payables.get(walletKeyOf(orgId, mode)), "the supplier's account");
}

const isPayable = (account: Account): account is Account & { floor: bigint } =>
  account.kind === 'supplier_payable' && account.floor !== null;

/** Lowers the floor exactly to the supplier's debt, so that the database still refuses payouts of unearned money. */
export function lowerFloorTo(account: Account, free: bigint): void {
  if (isPayable(account) && free < account.floor) account.floor = free;
}

/** Raises the floor again as the supplier repays its debt, at most to zero. */
export function raiseFloor(account: Account): void {
  if (!isPayable(account) || account.floor === 0n) return;
  const free = account.balance - account.held;
  const highest = free < 0n ? free : 0n;
  if (highest > account.floor) account.floor = highest;
  account.touched = true;
}

/** Records a transfer: changes balances, numbers entries and remembers the transfer under its key. */
export function recordTransfer(slice: WorkingSet, legs: Legs, fields: TransferFields): RecordedTransfer {
  const { wallet, command } = fields;
  const id = slice.nextUuid();
  legs.forEach((account, change) => {
    account.balance += change;
    account.entryCount += 1n;
    account.touched = true;
    raiseFloor(account);
    slice.newEntries.push({
      transferId: id,
      accountId: account.id,
      amount: change,
      seq: account.entryCount,
      balanceAfter: account.balance,
    });
  });
  const transfer: NewTransfer = {
    id,
    orgId: wallet.orgId,
    mode: wallet.mode,
    kind: fields.kind,
    key: commandKeyOf(command),
    causeKind: command.cause.kind,
    causeId: command.cause.id,
    amount: fields.amount,
    balanceAfter: totalBalanceOf(wallet),
    shortfall: fields.shortfall ?? 0n,
    holdId: fields.holdId ?? null,
    reverses: fields.reverses ?? null,
    keyId: fields.keyId ?? null,
    description: fields.description,
    usage: fields.usage ?? null,
    occurredAtMs: bookingTimeMs(fields.usedBy, slice.nowMs),
  };
  slice.newTransfers.push(transfer);
  slice.transfersByKey.set(scopedKey(wallet.orgId, transfer.key), transfer);
  return transfer;
}

/** Restarts a budget whose period has ended. Amounts held by running work stay held and count in the new period. */
export function startBudgetPeriod(slice: WorkingSet, wallet: Wallet, limit: Account): void {
  const { budget } = limit;
  if (budget === null || budget.periodEndMs === null || budget.periodEndMs > slice.nowMs) return;
  const { startMs, endMs } = periodAt(budget.period, slice.nowMs);
  budget.periodStartMs = startMs;
  budget.periodEndMs = endMs;
  budget.notifiedPercent = 0;
  budget.changed = true;
  const cause = { kind: 'budget', id: fromUuid('bdg', limit.id) };
  moveLimit(slice, wallet, limit, budget.limit - limit.balance, { cause, step: `period:${startMs}` });
}

/** Raises or lowers the remaining amount of a budget against its contra account. No money moves. */
export function moveLimit(
  slice: WorkingSet,
  wallet: Wallet,
  limit: Account,
  by: bigint,
  command: CommandStep,
): RecordedTransfer | null {
  lowerFloor(limit, by);
  if (by === 0n) return null;
  const legs = new Legs();
  legs.add(limit, by);
  legs.add(findSystemAccount(slice, { kind: 'limit_contra' }, wallet.mode), -by);
  return recordTransfer(slice, legs, { wallet, kind: 'budget', command, amount: 0n, description: 'Budget' });
}

/** If the new limit is below the spent and held amount, the floor follows it down so that the budget grants no more. */
function lowerFloor(limit: Account, by: bigint): void {
  if (limit.floor === null) return;
  const leftAfter = limit.balance + by - limit.held;
  limit.floor = leftAfter < 0n ? leftAfter : 0n;
  limit.touched = true;
}

/** Counts a charge against budgets, at most down to their floors: work that is older than a budget may exceed it. */
export function countAgainstBudgets(
  slice: WorkingSet,
  legs: Legs,
  wallet: Wallet,
  limits: readonly Account[],
  amount: bigint,
): void {
  const contra = limits.length === 0 ? null : findSystemAccount(slice, { kind: 'limit_contra' }, wallet.mode);
  for (const limit of limits) {
    const room = limit.floor === null ? amount : limit.balance - limit.held - limit.floor;
    const counted = amount < room ? amount : room;
    if (counted <= 0n || contra === null) continue;
    legs.add(limit, -counted);
    legs.add(contra, counted);
  }
}

/** Call it after `recordTransfer`, which updates the balances. */
export function recordThresholds(slice: WorkingSet, wallet: Wallet, limits: readonly Account[]): void {
  for (const limit of limits) {
    const { budget } = limit;
    if (budget === null) continue;
    const used = usedPercent(budget.limit, limit.balance);
    const { thresholdsPercent, notifiedPercent } = budget;
    const passed = [...thresholdsPercent, 100].filter((at) => at <= used && at > notifiedPercent);
    if (passed.length === 0) continue;
    budget.notifiedPercent = Math.max(...passed);
    budget.changed = true;
    for (const thresholdPercent of new Set(passed.toSorted((a, b) => a - b))) {
      slice.notices.push({ orgId: wallet.orgId, mode: wallet.mode, limit, thresholdPercent });
    }
  }
}

export interface CommandOutcome {
  readonly transfer?: RecordedTransfer | null;
  readonly hold?: Hold | null;
  readonly replayed?: boolean;
}

export function ledgerSuccess(wallet: Wallet, outcome: CommandOutcome): LedgerSuccess {
  const { transfer = null, hold = null, replayed = false } = outcome;
  return {
    ok: true,
    replayed,
    transferId: transfer === null ? null : fromUuid('trf', transfer.id),
    holdId: hold === null ? null : fromUuid('hld', hold.id),
    amount: nanoUsd(transfer?.amount ?? 0n),
    held: nanoUsd(hold?.held ?? 0n),
    shortfall: nanoUsd(transfer?.shortfall ?? 0n),
    balanceAfter: nanoUsd(transfer?.balanceAfter ?? totalBalanceOf(wallet)),
  };
}

export function ledgerRefused(
  reason: RejectionReason,
  available: bigint | null = null,
  limit: Account | null = null,
): LedgerRefused {
  return {
    ok: false,
    reason,
    available: available === null ? null : nanoUsd(available),
    budgetId: limit === null ? null : fromUuid('bdg', limit.id),
  };
}
