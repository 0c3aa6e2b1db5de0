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
 * The part of the ledger that one batch works on, in memory: every row it may change, locked by the transaction, and
 * what was written before under the same keys. Decisions change it and note what is to be written; the store does the
 * rest. Nothing here reads or waits, so a batch of one and a batch of hundreds are decided by the same code.
 */

export interface Wallet {
  readonly orgId: string;
  readonly mode: Mode;
  readonly credit: Account;
  /** Credit first, then promotional accounts, in no particular order. */
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
  /** What is set aside, by account. Money parts sum to `held`; a limit's part is as large as `held`. */
  readonly amounts: Map<string, bigint>;
  held: bigint;
  posted: bigint;
  closedAtMs: number | null;
  touched: boolean;
}

/** A transfer that is in the books already, or will be when this batch is. */
export interface RecordedTransfer {
  readonly id: string;
  readonly mode: Mode;
  readonly kind: TransferKind;
  readonly amount: bigint;
  readonly balanceAfter: bigint;
  readonly holdId: string | null;
  readonly shortfall: bigint;
}

/** What a refund or a reversal needs to know of the transfer it undoes. */
export interface UndoableTransfer {
  readonly id: string;
  readonly orgId: string;
  readonly mode: Mode;
  readonly kind: TransferKind;
  readonly keyId: string | null;
  readonly entries: readonly { readonly accountId: string; readonly amount: bigint }[];
  /** The sum of what refunds and reversals have moved back so far, by account. */
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

/** A budget passed a threshold: to be told in the same transaction. */
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
  /** By the organisation's id as commands spell it, and the mode: see `walletKeyOf`. */
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

/** Cause and step as one key, cause first: so the index on it also finds all that a cause was charged. */
export function commandKeyOf({ cause, step }: CommandStep): string {
  return `${cause.kind}:${cause.id}:${step}`;
}

export function walletFor(slice: WorkingSet, { orgId, mode }: LedgerCommand): Wallet {
  return requireLoaded(slice.wallets.get(walletKeyOf(orgId, mode)), `the accounts of ${orgId}`);
}

/** The keys of those commands under which nothing is in the books and nothing will be when this batch is. */
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

/** A row that the load must have brought: its absence is a mistake in the ledger, not in what was asked. */
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

/** The budgets that count this work: those of the organisation, and those of the key. */
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

/** Signed changes by account; several to one account become one entry. They are few, so a list is the quickest map. */
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

  /** What an account changes by so far. */
  changeOf(account: Account): bigint {
    return this.#amounts[this.#accounts.indexOf(account)] ?? 0n;
  }

  changeNothing(): boolean {
    return this.#amounts.every((amount) => amount === 0n);
  }

  /** Those that change something, in the order they came. */
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

/** What a supplier has earned, and what it owes when time was given back that it was paid for already. */
export function payableOf(slice: WorkingSet, { orgId, mode }: Pick<Wallet, 'orgId' | 'mode'>): Account {
  return requireLoaded(slice.payables.get(walletKeyOf(orgId, mode)), "the supplier's account");
}

const isPayable = (account: Account): account is Account & { floor: bigint } =>
  account.kind === 'supplier_payable' && account.floor !== null;

/**
 * What a supplier gives back may be more than it has: then it owes. Its floor sinks to just that, so that the database
 * still refuses a payout of what was not earned.
 */
export function lowerFloorTo(account: Account, free: bigint): void {
  if (isPayable(account) && free < account.floor) account.floor = free;
}

/** Whatever makes up for what is owed is gone for good: the floor follows it up, never beyond zero. */
export function raiseFloor(account: Account): void {
  if (!isPayable(account) || account.floor === 0n) return;
  const free = account.balance - account.held;
  const highest = free < 0n ? free : 0n;
  if (highest > account.floor) account.floor = highest;
  account.touched = true;
}

/** Enters a transfer: moves the balances, numbers the entries, and remembers it under its key. */
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

/**
 * Begins the next period of a budget once the present one is over: what is left becomes the whole limit again. What
 * running work holds of it stays held, and so counts in the new period too.
 */
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

/** Gives a budget more to spend, or less, against its counterpart: never money, only what may be spent. */
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

/** A limit lowered below what is spent or held already has its floor there, so that nothing more is taken. */
function lowerFloor(limit: Account, by: bigint): void {
  if (limit.floor === null) return;
  const leftAfter = limit.balance + by - limit.held;
  limit.floor = leftAfter < 0n ? leftAfter : 0n;
  limit.touched = true;
}

/** Counts a charge against budgets. Never past a floor: what running work spent before the budget was made is not in it. */
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

/** To be called once the legs are entered. */
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
