import type { Mode } from '@millrace/platform/envelope';
import { toUuid } from '@millrace/platform/ids';
import { allocate } from '@millrace/platform/money';
import type { Account } from './accounts.ts';
import { addDebt, reduceDebt } from './debt.ts';
import {
  availableIn,
  compareSpending,
  isExpired,
  planDraw,
  minBigint,
  spendableAccounts,
  sumOf,
  tightestBudget,
  totalAvailable,
} from './draw.ts';
import type {
  CreditCommand,
  DebitCommand,
  ExpireCommand,
  LedgerCommand,
  LedgerResult,
  LimitCommand,
  RefundCommand,
  ReverseCommand,
  Share,
  TransferKind,
} from '../model/ledger.ts';
import {
  countAgainstBudgets,
  ledgerSuccess,
  recordTransfer,
  findDestination,
  findSystemAccount,
  commandKeyOf,
  Legs,
  limitsFor,
  moveLimit,
  lowerFloorTo,
  requireLoaded,
  recordThresholds,
  payableOf,
  ledgerRefused,
  scopedKey,
  type Hold,
  type WorkingSet,
  type UndoableTransfer,
  type Wallet,
} from './working-set.ts';

/** Decides commands without a hold: credits, debits, refunds, reversals, expiry and budget limits. */

/** The result of a command that was already applied; null if it was not. */
export function replayOf(
  slice: WorkingSet,
  wallet: Wallet,
  command: LedgerCommand,
  kind: TransferKind,
  hold: Hold | null = null,
): LedgerResult | null {
  const known = slice.transfersByKey.get(scopedKey(wallet.orgId, commandKeyOf(command)));
  if (known === undefined) return null;
  if (known.kind !== kind || known.mode !== wallet.mode) return ledgerRefused('STEP_REUSED');
  return ledgerSuccess(wallet, { transfer: known, hold, replayed: true });
}

function sumOfShares(shares: readonly Share[]): bigint {
  return shares.reduce((sum, share) => sum + share.amount, 0n);
}

/** Adds each share to its account. A wrong sum is a bug of the caller, so it throws instead of refusing. */
export function addShares(
  slice: WorkingSet,
  legs: Legs,
  mode: Mode,
  shares: readonly Share[],
  total: bigint,
): void {
  if (sumOfShares(shares) !== total || shares.some((share) => share.amount < 0n)) {
    throw new RangeError(`The shares of a transfer must add up to its amount, ${total} nano-USD.`);
  }
  for (const { account, amount } of shares) legs.add(findDestination(slice, account, mode), amount);
}

/** Takes money back from its destination. A supplier that was already paid out owes it and repays it from earnings. */
function takeBackFrom(legs: Legs, account: Account, amount: bigint): void {
  legs.add(account, -amount);
  lowerFloorTo(account, account.balance - account.held + legs.changeOf(account));
}

export function decideCredit(slice: WorkingSet, wallet: Wallet, command: CreditCommand): LedgerResult {
  const replay = replayOf(slice, wallet, command, command.kind);
  if (replay !== null) return replay;
  if (command.amount <= 0n) return ledgerSuccess(wallet, {});
  if (sumOfShares(command.from) !== command.amount) {
    throw new RangeError(`The sources of a credit must add up to its amount, ${command.amount} nano-USD.`);
  }
  const { absorbed = 0n } = command;
  if (absorbed < 0n || absorbed > command.amount) {
    throw new RangeError(`The operator cannot have absorbed ${absorbed} of ${command.amount} nano-USD.`);
  }
  const own = command.amount - absorbed;
  const legs = new Legs();
  legs.add(command.promo === undefined ? wallet.credit : openPromo(slice, wallet, command.promo), own);
  if (absorbed > 0n) legs.add(findSystemAccount(slice, { kind: 'shortfall' }, wallet.mode), absorbed);
  for (const { account, amount } of command.from) {
    takeBackFrom(legs, findDestination(slice, account, wallet.mode), amount);
  }
  // The money came from the shortfall account and would return to it.
  if (legs.changeNothing()) return ledgerSuccess(wallet, {});
  const transfer = recordTransfer(slice, legs, {
    wallet,
    command,
    kind: command.kind,
    amount: own,
    keyId: command.keyId === undefined ? null : toUuid(command.keyId),
    description: command.description,
    usage: command.usage ?? null,
  });
  return ledgerSuccess(wallet, { transfer });
}

function openPromo(slice: WorkingSet, wallet: Wallet, promo: NonNullable<CreditCommand['promo']>): Account {
  const account: Account = {
    id: slice.nextUuid(),
    kind: 'promo',
    orgId: wallet.orgId,
    mode: wallet.mode,
    priority: promo.priority,
    expiresAtMs: promo.expiresAt?.getTime() ?? null,
    frozen: false,
    budget: null,
    isNew: true,
    balance: 0n,
    held: 0n,
    floor: 0n,
    entryCount: 0n,
    owed: 0n,
    writtenOff: 0n,
    hasCompanions: false,
    touched: true,
  };
  slice.accounts.set(account.id, account);
  wallet.money.push(account);
  wallet.credit.hasCompanions = true;
  wallet.credit.touched = true;
  return account;
}

export function decideDebit(slice: WorkingSet, wallet: Wallet, command: DebitCommand): LedgerResult {
  const replay = replayOf(slice, wallet, command, command.kind);
  if (replay !== null) return replay;
  if (command.amount <= 0n) return ledgerSuccess(wallet, {});
  const keyId = command.keyId === undefined ? null : toUuid(command.keyId);
  const limits = command.kind === 'charge' ? limitsFor(wallet, keyId) : [];
  const payers = payersOf(slice, wallet, command);
  const tight = tightestBudget(limits, 'new');
  const money = totalAvailable(payers);
  const affordable = tight === null ? money : minBigint(money, tight.left);
  if (command.whenShort === 'refuse' && affordable < command.amount) {
    return money < command.amount || tight === null
      ? ledgerRefused('INSUFFICIENT_BALANCE', money)
      : ledgerRefused('BUDGET_EXCEEDED', tight.left, tight.limit);
  }
  const amounts = planDraw(payers, minBigint(command.amount, affordable));
  const paid = sumOf(amounts);
  const shortfall = command.amount - paid;
  const legs = new Legs();
  legs.take(amounts);
  if (shortfall > 0n) legs.add(findSystemAccount(slice, { kind: 'shortfall' }, wallet.mode), -shortfall);
  addShares(slice, legs, wallet.mode, command.to, command.amount);
  countAgainstBudgets(slice, legs, wallet, limits, paid);
  const transfer = recordTransfer(slice, legs, {
    wallet,
    command,
    kind: command.kind,
    amount: -paid,
    keyId,
    description: command.description,
    usage: command.usage ?? null,
    shortfall,
  });
  if (command.kind === 'clawback') addDebt(wallet, shortfall);
  recordThresholds(slice, wallet, limits);
  return ledgerSuccess(wallet, { transfer });
}

/** A clawback takes paid money before promotional credit, because the payment was paid money. */
function payersOf(slice: WorkingSet, wallet: Wallet, command: DebitCommand): readonly Account[] {
  if (command.kind === 'payout') return [payableOf(slice, wallet)];
  const payers = spendableAccounts(wallet.money, slice.nowMs);
  if (command.kind !== 'clawback') return payers;
  return [wallet.credit, ...payers.filter((account) => account !== wallet.credit)];
}

/** Money entries only: a refund or reversal does not return the amount that budgets counted. */
function moneyEntries(slice: WorkingSet, source: UndoableTransfer) {
  return source.entries.flatMap((entry) => {
    const account = requireLoaded(slice.accounts.get(entry.accountId), 'an account of the transfer');
    if (account.kind === 'limit' || account.kind === 'limit_contra') return [];
    const undone = source.undone.get(entry.accountId) ?? 0n;
    return [{ account, amount: entry.amount, left: entry.amount + undone }];
  });
}

function findUndoable(slice: WorkingSet, wallet: Wallet, transferUuid: string): UndoableTransfer | null {
  const source = slice.undoable.get(transferUuid);
  return source?.orgId === wallet.orgId && source.mode === wallet.mode ? source : null;
}

/** Records the undone amounts for later commands of the same batch. */
function recordUndone(source: UndoableTransfer, legs: Legs): void {
  legs.forEach((account, amount) => {
    source.undone.set(account.id, (source.undone.get(account.id) ?? 0n) + amount);
  });
}

/** Paid money is returned before promotional credit, and the promotional credit that was spent last comes first. */
function compareRefundOrder(left: Account, right: Account): number {
  if (left.kind !== right.kind) return left.kind === 'credit' ? -1 : 1;
  return compareSpending(right, left);
}

export function decideRefund(slice: WorkingSet, wallet: Wallet, command: RefundCommand): LedgerResult {
  const replay = replayOf(slice, wallet, command, 'refund');
  if (replay !== null) return replay;
  const source = findUndoable(slice, wallet, toUuid(command.transferId));
  if (source === null) return ledgerRefused('TRANSFER_NOT_FOUND');
  const entries = moneyEntries(slice, source);
  const payers = entries.filter(({ account }) => isSpendable(account));
  const left = payers.reduce((sum, entry) => sum - entry.left, 0n);
  if (source.kind !== 'charge' || source.reversed || command.amount <= 0n || command.amount > left) {
    return ledgerRefused('TRANSFER_NOT_REVERSIBLE', source.kind === 'charge' ? left : 0n);
  }
  const legs = new Legs();
  let toGive: bigint = command.amount;
  for (const entry of payers.toSorted((a, b) => compareRefundOrder(a.account, b.account))) {
    const given = minBigint(toGive, -entry.left);
    legs.add(entry.account, given);
    toGive -= given;
  }
  const takers = entries.filter(({ left }) => left > 0n);
  const amounts = takers.map(({ left }) => left);
  const shares = allocate(command.amount, amounts);
  takers.forEach(({ account }, index) => takeBackFrom(legs, account, shares[index] ?? 0n));
  const transfer = recordTransfer(slice, legs, {
    wallet,
    command,
    kind: 'refund',
    amount: command.amount,
    reverses: source.id,
    keyId: source.keyId,
    description: command.description,
  });
  recordUndone(source, legs);
  return ledgerSuccess(wallet, { transfer });
}

const isSpendable = ({ kind }: Account): boolean => kind === 'credit' || kind === 'promo';

const irreversible: ReadonlySet<TransferKind> = new Set(['refund', 'reversal', 'budget', 'expiry']);

function shortfallReturned(legs: Legs): bigint {
  let returned = 0n;
  legs.forEach(({ kind }, amount) => {
    if (kind === 'shortfall') returned += amount;
  });
  return returned;
}

export function decideReverse(slice: WorkingSet, wallet: Wallet, command: ReverseCommand): LedgerResult {
  const replay = replayOf(slice, wallet, command, 'reversal');
  if (replay !== null) return replay;
  const source = findUndoable(slice, wallet, toUuid(command.transferId));
  if (source === null) return ledgerRefused('TRANSFER_NOT_FOUND');
  if (irreversible.has(source.kind) || source.reversed || source.undone.size > 0) {
    return ledgerRefused('TRANSFER_NOT_REVERSIBLE');
  }
  const legs = new Legs();
  let amount = 0n;
  for (const entry of moneyEntries(slice, source)) {
    if (entry.amount > 0n && isSpendable(entry.account) && availableIn(entry.account) < entry.amount) {
      return ledgerRefused('INSUFFICIENT_BALANCE', availableIn(entry.account));
    }
    if (entry.amount > 0n) takeBackFrom(legs, entry.account, entry.amount);
    else legs.add(entry.account, -entry.amount);
    if (isSpendable(entry.account)) amount -= entry.amount;
  }
  const transfer = recordTransfer(slice, legs, {
    wallet,
    command,
    kind: 'reversal',
    amount,
    reverses: source.id,
    keyId: source.keyId,
    description: command.description,
  });
  if (source.kind === 'clawback') reduceDebt(wallet, shortfallReturned(legs), source);
  recordUndone(source, legs);
  source.reversed = true;
  return ledgerSuccess(wallet, { transfer });
}

export function decideExpire(slice: WorkingSet, wallet: Wallet, command: ExpireCommand): LedgerResult {
  const replay = replayOf(slice, wallet, command, 'expiry');
  if (replay !== null) return replay;
  const account = wallet.money.find(({ id }) => id === toUuid(command.accountId));
  if (account === undefined || !isExpired(account, slice.nowMs)) return ledgerSuccess(wallet, {});
  const amount = availableIn(account);
  if (amount === 0n) return ledgerSuccess(wallet, {});
  const legs = new Legs();
  legs.add(account, -amount);
  legs.add(findSystemAccount(slice, { kind: 'grants' }, wallet.mode), amount);
  const transfer = recordTransfer(slice, legs, {
    wallet,
    command,
    kind: 'expiry',
    amount: -amount,
    description: 'Promotional credit expired',
  });
  return ledgerSuccess(wallet, { transfer });
}

export function decideLimit(slice: WorkingSet, wallet: Wallet, command: LimitCommand): LedgerResult {
  const replay = replayOf(slice, wallet, command, 'budget');
  if (replay !== null) return replay;
  const limit = wallet.limits.find(({ id }) => id === toUuid(command.budgetId));
  if (limit === undefined) return ledgerRefused('BUDGET_NOT_FOUND');
  const by = command.by === 'rest' ? limit.held - limit.balance : command.by;
  return ledgerSuccess(wallet, { transfer: moveLimit(slice, wallet, limit, by, command) });
}
