import { toUuid } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import type { Account } from './accounts.ts';
import {
  compareSpending,
  isHeldInBudget,
  planDraw,
  minBigint,
  spendableAccounts,
  sumOf,
  tightestBudget,
  totalAvailable,
  type AccountPart,
} from './draw.ts';
import type {
  CloseCommand,
  WorkState,
  HoldCommand,
  LedgerResult,
  PayOutCommand,
  PostCommand,
  LedgerRefused,
  ResizeCommand,
} from '../model/ledger.ts';
import {
  countAgainstBudgets,
  ledgerSuccess,
  recordTransfer,
  findSystemAccount,
  commandKeyOf,
  Legs,
  limitsFor,
  requireLoaded,
  recordThresholds,
  payableOf,
  raiseFloor,
  ledgerRefused,
  scopedKey,
  type Hold,
  type WorkingSet,
  type Wallet,
} from './working-set.ts';
import { addShares, replayOf } from './transfers.ts';

/** Decides commands on holds: hold money, charge a part of it, release the rest. */

interface HoldIncrease {
  readonly more: bigint;
  readonly atLeast: bigint;
  readonly demand: WorkState;
  readonly limits: readonly Account[];
  /** The accounts to hold money in, in spending order; null for a hold of budgets only. */
  readonly payers: readonly Account[] | null;
}

type IncreaseResult = { readonly ok: true; readonly amount: bigint } | LedgerRefused;

/** The amount that balance and tightest budget allow, or the refusal if it is below `atLeast`. */
function affordableIncrease(request: HoldIncrease): IncreaseResult {
  const money = request.payers === null ? request.more : totalAvailable(request.payers);
  const tight = tightestBudget(request.limits, request.demand);
  const affordable = minBigint(request.more, money);
  if (affordable < request.atLeast) return ledgerRefused('INSUFFICIENT_BALANCE', money);
  const amount = tight === null ? affordable : minBigint(affordable, tight.left);
  if (tight !== null && amount < request.atLeast) {
    return ledgerRefused('BUDGET_EXCEEDED', tight.left, tight.limit);
  }
  return { ok: true, amount };
}

function addToHold(hold: Hold, account: Account, amount: bigint): void {
  if (amount === 0n) return;
  account.held += amount;
  account.touched = true;
  hold.amounts.set(account.id, (hold.amounts.get(account.id) ?? 0n) + amount);
  hold.touched = true;
}

function growHold(hold: Hold, amount: bigint, request: Pick<HoldIncrease, 'limits' | 'payers'>): void {
  for (const part of planDraw(request.payers ?? [], amount)) addToHold(hold, part.account, part.amount);
  for (const limit of request.limits) if (isHeldInBudget(limit)) addToHold(hold, limit, amount);
  hold.held += amount;
  hold.touched = true;
}

/** The held money by account, in spending order. Budget parts are left out. */
function heldAmounts(slice: WorkingSet, hold: Hold): readonly AccountPart[] {
  const amounts: AccountPart[] = [];
  for (const [accountId, amount] of hold.amounts) {
    const account = requireLoaded(slice.accounts.get(accountId), 'an account of the hold');
    if (account.kind !== 'limit' && amount > 0n) amounts.push({ account, amount });
  }
  return amounts.toSorted((left, right) => compareSpending(left.account, right.account));
}

function takeUpTo(amounts: readonly AccountPart[], amount: bigint): readonly AccountPart[] {
  const taken: AccountPart[] = [];
  let missing = amount;
  for (const part of amounts) {
    const some = minBigint(part.amount, missing);
    if (some > 0n) taken.push({ account: part.account, amount: some });
    missing -= some;
  }
  return taken;
}

/** A charge takes the account that is spent first; giving back starts with the account that is spent last. */
function releaseFromHold(
  slice: WorkingSet,
  hold: Hold,
  amount: bigint,
  order: 'charge' | 'give back',
): readonly AccountPart[] {
  const amounts = heldAmounts(slice, hold);
  const taken = takeUpTo(order === 'charge' ? amounts : amounts.toReversed(), amount);
  for (const part of taken) {
    addToHold(hold, part.account, -part.amount);
    // A charge leaves the account at once, so only money that is given back can reduce a supplier's debt.
    if (order === 'give back') raiseFloor(part.account);
  }
  for (const [accountId, held] of hold.amounts) {
    const account = requireLoaded(slice.accounts.get(accountId), 'a budget of the hold');
    if (account.kind === 'limit') addToHold(hold, account, -minBigint(held, amount));
  }
  hold.held -= amount;
  hold.touched = true;
  return taken;
}

function isBudgetOnlyHold(slice: WorkingSet, hold: Hold): boolean {
  if (hold.amounts.size === 0) return false;
  return [...hold.amounts.keys()].every((id) => slice.accounts.get(id)?.kind === 'limit');
}

/** The accounts that pay for a hold, and for charges beyond it, in spending order. */
function payersOf(slice: WorkingSet, wallet: Wallet, of: HoldCommand['of']): readonly Account[] {
  switch (of) {
    case 'earnings':
      return [payableOf(slice, wallet)];
    case 'paid':
      return [wallet.credit];
    case undefined:
      return spendableAccounts(wallet.money, slice.nowMs);
  }
}

/** The budgets whose parts change with the hold. */
function limitsOf(slice: WorkingSet, wallet: Wallet, hold: Hold): readonly Account[] {
  if (!isBudgetOnlyHold(slice, hold)) return limitsFor(wallet, hold.keyId);
  return [...hold.amounts.keys()].map((id) => requireLoaded(slice.accounts.get(id), 'a budget of the hold'));
}

export function decideHold(slice: WorkingSet, wallet: Wallet, command: HoldCommand): LedgerResult {
  const key = commandKeyOf(command);
  const known = slice.holdsByKey.get(scopedKey(wallet.orgId, key));
  if (known !== undefined && known.mode !== wallet.mode) return ledgerRefused('STEP_REUSED');
  if (known !== undefined) return ledgerSuccess(wallet, { hold: known, replayed: true });
  if (command.demand === 'new' && wallet.credit.frozen) return ledgerRefused('ACCOUNT_FROZEN');
  const keyId = command.keyId === undefined ? null : toUuid(command.keyId);
  const named = command.onlyBudgets?.map((id) => wallet.limits.find((limit) => limit.id === toUuid(id)));
  if (named?.includes(undefined) === true) return ledgerRefused('BUDGET_NOT_FOUND');
  const budgets = named?.filter((limit) => limit !== undefined) ?? limitsFor(wallet, keyId);
  // A payout of earnings is not spending, so no budget counts it.
  const limits = command.of === 'earnings' ? [] : budgets;
  const payers = payersOf(slice, wallet, command.of);
  const request = { limits, payers: named === undefined ? payers : null };
  const room = affordableIncrease({
    ...request,
    more: command.amount,
    atLeast: command.atLeast ?? command.amount,
    demand: command.demand,
  });
  if (!room.ok) return room;
  const hold: Hold = {
    id: slice.nextUuid(),
    orgId: wallet.orgId,
    mode: wallet.mode,
    key,
    causeKind: command.cause.kind,
    causeId: command.cause.id,
    keyId,
    isNew: true,
    amounts: new Map(),
    held: 0n,
    posted: 0n,
    closedAtMs: null,
    touched: true,
  };
  if (request.payers === null) for (const limit of limits) hold.amounts.set(limit.id, 0n);
  growHold(hold, room.amount, request);
  slice.holds.set(hold.id, hold);
  slice.holdsByKey.set(scopedKey(wallet.orgId, key), hold);
  return ledgerSuccess(wallet, { hold });
}

/** Whether the hold is of a supplier's earnings. Such an account is loaded only if the command names it. */
function isOfEarnings(slice: WorkingSet, hold: Hold): boolean {
  return [...hold.amounts.keys()].some((id) => {
    const kind = slice.accounts.get(id)?.kind;
    return kind === undefined || kind === 'supplier_payable';
  });
}

/** Finds an open hold of this wallet; a hold of earnings only if the command is for earnings. */
function findOpenHold(slice: WorkingSet, wallet: Wallet, id: string, of?: 'earnings'): Hold | LedgerRefused {
  const hold = slice.holds.get(id);
  const isTheirs = hold?.orgId === wallet.orgId && hold.mode === wallet.mode;
  if (hold === undefined || !isTheirs || isOfEarnings(slice, hold) !== (of === 'earnings')) {
    return ledgerRefused('HOLD_NOT_FOUND');
  }
  return hold.closedAtMs === null ? hold : ledgerRefused('HOLD_CLOSED');
}

function resizeHold(
  slice: WorkingSet,
  wallet: Wallet,
  hold: Hold,
  request: {
    readonly target: bigint;
    readonly atLeast: bigint;
    readonly demand: WorkState;
    readonly of: ResizeCommand['of'];
  },
): LedgerRefused | null {
  if (request.target <= hold.held) {
    releaseFromHold(slice, hold, hold.held - request.target, 'give back');
    return null;
  }
  const limits = limitsOf(slice, wallet, hold);
  const payers = isBudgetOnlyHold(slice, hold) ? null : payersOf(slice, wallet, request.of);
  const atLeast = request.atLeast - hold.held;
  const room = affordableIncrease({
    more: request.target - hold.held,
    atLeast: atLeast > 0n ? atLeast : 0n,
    demand: request.demand,
    limits,
    payers,
  });
  if (!room.ok) return room;
  growHold(hold, room.amount, { limits, payers });
  return null;
}

export function decideResize(slice: WorkingSet, wallet: Wallet, command: ResizeCommand): LedgerResult {
  const hold = findOpenHold(slice, wallet, toUuid(command.holdId));
  if ('ok' in hold) return hold;
  const grows = command.target > hold.held;
  if (grows && command.demand === 'new' && wallet.credit.frozen) return ledgerRefused('ACCOUNT_FROZEN');
  const rejection = resizeHold(slice, wallet, hold, {
    target: command.target,
    atLeast: command.atLeast ?? command.target,
    demand: command.demand,
    of: command.of,
  });
  return rejection ?? ledgerSuccess(wallet, { hold });
}

function closeHold(slice: WorkingSet, hold: Hold): void {
  releaseFromHold(slice, hold, hold.held, 'give back');
  hold.closedAtMs = slice.nowMs;
  hold.touched = true;
}

export function decideClose(slice: WorkingSet, wallet: Wallet, command: CloseCommand): LedgerResult {
  const hold = findOpenHold(slice, wallet, toUuid(command.holdId), command.of);
  if (!('ok' in hold)) {
    closeHold(slice, hold);
    return ledgerSuccess(wallet, { hold });
  }
  if (hold.reason !== 'HOLD_CLOSED') return hold;
  const closed = requireLoaded(slice.holds.get(toUuid(command.holdId)), 'the hold');
  return ledgerSuccess(wallet, { hold: closed, replayed: true });
}

/** Draws the missing amount from the balance, limited by budgets that stop everything. */
function drawBeyondHold(payers: readonly Account[], limits: readonly Account[], missing: bigint) {
  const tight = tightestBudget(limits, 'running');
  const allowed = tight === null ? missing : minBigint(missing, tight.left);
  return planDraw(payers, allowed);
}

export function decidePost(slice: WorkingSet, wallet: Wallet, command: PostCommand): LedgerResult {
  const holdId = toUuid(command.holdId);
  const replay = replayOf(slice, wallet, command, 'charge', slice.holds.get(holdId) ?? null);
  if (replay !== null) return replay;
  const hold = findOpenHold(slice, wallet, holdId);
  if ('ok' in hold) {
    // A zero charge creates no transfer to replay, so the closed hold is the only sign that it was processed.
    const isClosed = hold.reason === 'HOLD_CLOSED';
    if (command.amount !== 0n || command.afterwards !== 'close' || !isClosed) return hold;
    return ledgerSuccess(wallet, { hold: slice.holds.get(holdId) ?? null, replayed: true });
  }
  const transfer = command.amount === 0n ? null : chargeHold(slice, wallet, hold, command);
  if (command.afterwards === 'close') closeHold(slice, hold);
  else if (command.afterwards !== 'keep') {
    const { target } = command.afterwards;
    resizeHold(slice, wallet, hold, { target, atLeast: 0n, demand: 'running', of: command.of });
  }
  return ledgerSuccess(wallet, { transfer, hold });
}

function chargeHold(slice: WorkingSet, wallet: Wallet, hold: Hold, command: PostCommand) {
  const keyId = command.keyId === undefined ? hold.keyId : toUuid(command.keyId);
  const limits = limitsFor(wallet, keyId);
  const legs = new Legs();
  const fromHold = minBigint(minBigint(command.amount, command.mostFromHold ?? command.amount), hold.held);
  // Computed before the hold is released; otherwise its money would count as available and be taken twice.
  const extra =
    command.beyondHold === 'operator'
      ? []
      : drawBeyondHold(payersOf(slice, wallet, command.of), limits, command.amount - fromHold);
  legs.take(releaseFromHold(slice, hold, fromHold, 'charge'));
  legs.take(extra);
  const paid = fromHold + sumOf(extra);
  hold.posted += paid;
  const shortfall = command.amount - paid;
  if (shortfall > 0n) legs.add(findSystemAccount(slice, { kind: 'shortfall' }, wallet.mode), -shortfall);
  addShares(slice, legs, wallet.mode, command.to, command.amount);
  countAgainstBudgets(slice, legs, wallet, limits, paid);
  const transfer = recordTransfer(slice, legs, {
    wallet,
    kind: 'charge',
    command,
    amount: -paid,
    holdId: hold.id,
    keyId,
    description: command.description,
    usage: command.usage ?? null,
    usedBy: command.usedBy,
    shortfall,
  });
  recordThresholds(slice, wallet, limits);
  return transfer;
}

/** Pays out all of a hold of supplier earnings, even if part of the earnings was refunded meanwhile. */
export function decidePayOut(slice: WorkingSet, wallet: Wallet, command: PayOutCommand): LedgerResult {
  const holdId = toUuid(command.holdId);
  const replay = replayOf(slice, wallet, command, 'payout', slice.holds.get(holdId) ?? null);
  if (replay !== null) return replay;
  const hold = findOpenHold(slice, wallet, holdId, 'earnings');
  if ('ok' in hold) return hold;
  const { held } = hold;
  const paid = { account: { kind: 'payments_clearing' }, amount: nanoUsd(held) } as const;
  const legs = new Legs();
  legs.take(releaseFromHold(slice, hold, held, 'charge'));
  addShares(slice, legs, wallet.mode, [paid], held);
  hold.posted += held;
  const transfer = recordTransfer(slice, legs, {
    wallet,
    kind: 'payout',
    command,
    amount: -held,
    holdId: hold.id,
    description: command.description,
  });
  closeHold(slice, hold);
  return ledgerSuccess(wallet, { transfer, hold });
}
