import {
  bump,
  refusedPrediction,
  sum,
  type AmountsByAccount,
  type Of,
  type OracleState,
  type Prediction,
} from './oracle-state.ts';
import {
  freeIn,
  inSpendingOrder,
  minBigint,
  maxBigint,
  type Account,
  type Budget,
  type Hold,
  type Tenant,
  type Transfer,
} from './accounts.ts';

/** The oracle's commands on holds. */

function reserve(hold: Hold, account: Account, by: bigint): void {
  account.held += by;
  bump(hold.amounts, account, by);
}

/** Holds up to `more` and at least `atLeast`, or returns the reason of the refusal. */
function grow(
  oracle: OracleState,
  hold: Hold,
  budgets: readonly Budget[],
  request: { more: bigint; atLeast: bigint; demand: 'new' | 'running' },
): Prediction | null {
  const { earned } = hold.tenant;
  const free = hold.ofEarnings ? freeIn(earned) : oracle.free(hold.tenant);
  const money = hold.onlyBudget === null ? free : request.more;
  const tight = oracle.tightest(budgets, request.demand);
  let amount = minBigint(request.more, money);
  if (amount < request.atLeast) return refusedPrediction('INSUFFICIENT_BALANCE', money);
  if (tight !== null && tight.left < amount) amount = tight.left;
  if (tight !== null && amount < request.atLeast)
    return refusedPrediction('BUDGET_EXCEEDED', tight.left, tight.budget.id);
  if (hold.onlyBudget === null) {
    const payers = hold.ofEarnings ? [earned] : hold.tenant.money;
    for (const [account, part] of oracle.draw(payers, amount)) reserve(hold, account, part);
  }
  for (const budget of budgets) {
    if (!budget.removed && budget.onExceeded !== 'notify') reserve(hold, budget, amount);
  }
  hold.held += amount;
  return null;
}

/** Releases an amount: charges in spending order, returns in reverse order. */
function release(hold: Hold, amount: bigint, order: 'charge' | 'give back'): AmountsByAccount {
  const money = inSpendingOrder([...hold.amounts.keys()].filter((account) => account.what !== 'budget'));
  if (order === 'give back') money.reverse();
  const taken: AmountsByAccount = new Map();
  let missing = amount;
  for (const account of money) {
    const part = minBigint(missing, hold.amounts.get(account) ?? 0n);
    missing -= part;
    if (part > 0n) taken.set(account, part);
    reserve(hold, account, -part);
  }
  for (const [account, part] of hold.amounts) {
    if (account.what === 'budget') reserve(hold, account, -minBigint(part, amount));
  }
  hold.held -= amount;
  return taken;
}

function budgetsOfHold(oracle: OracleState, hold: Hold): Budget[] {
  return hold.onlyBudget === null ? oracle.budgetsOf(hold.tenant, hold.keyId) : [hold.onlyBudget];
}

export function applyHold(oracle: OracleState, tenant: Tenant, command: Of<'hold'>): Prediction {
  const known = oracle.holdsByKey.get(oracle.key(command));
  if (known !== undefined) return oracle.done(tenant, null, known, true);
  if (command.demand === 'new' && tenant.frozen) return refusedPrediction('ACCOUNT_FROZEN');
  const named = command.onlyBudgets?.[0];
  const onlyBudget = tenant.budgets.find(({ id, removed }) => !removed && id === named) ?? null;
  if (named !== undefined && onlyBudget === null) return refusedPrediction('BUDGET_NOT_FOUND');
  const hold: Hold = {
    id: null,
    tenant,
    keyId: command.keyId ?? null,
    onlyBudget,
    // A hold of zero is not a hold of earnings.
    ofEarnings: command.of === 'earnings' && command.amount > 0n,
    amounts: new Map(),
    held: 0n,
    posted: 0n,
    closed: false,
  };
  const rejected = grow(oracle, hold, command.of === 'earnings' ? [] : budgetsOfHold(oracle, hold), {
    more: command.amount,
    atLeast: command.atLeast ?? command.amount,
    demand: command.demand,
  });
  if (rejected !== null) return rejected;
  oracle.holdsByKey.set(oracle.key(command), hold);
  return oracle.done(tenant, null, hold);
}

function find(oracle: OracleState, tenant: Tenant, holdId: string, of?: 'earnings'): Hold | null {
  const hold = oracle.holds.get(holdId);
  return hold?.tenant === tenant && hold.ofEarnings === (of === 'earnings') ? hold : null;
}

function bringTo(
  oracle: OracleState,
  hold: Hold,
  target: bigint,
  atLeast: bigint,
  demand: 'new' | 'running',
): Prediction | null {
  if (target <= hold.held) {
    release(hold, hold.held - target, 'give back');
    return null;
  }
  return grow(oracle, hold, budgetsOfHold(oracle, hold), {
    more: target - hold.held,
    atLeast: maxBigint(0n, atLeast - hold.held),
    demand,
  });
}

export function applyResize(oracle: OracleState, tenant: Tenant, command: Of<'resize'>): Prediction {
  const hold = find(oracle, tenant, command.holdId);
  if (hold === null) return refusedPrediction('HOLD_NOT_FOUND');
  if (hold.closed) return refusedPrediction('HOLD_CLOSED');
  if (command.target > hold.held && command.demand === 'new' && tenant.frozen)
    return refusedPrediction('ACCOUNT_FROZEN');
  const rejected = bringTo(oracle, hold, command.target, command.atLeast ?? command.target, command.demand);
  return rejected ?? oracle.done(tenant, null, hold);
}

export function applyClose(oracle: OracleState, tenant: Tenant, command: Of<'close'>): Prediction {
  const hold = find(oracle, tenant, command.holdId, command.of);
  if (hold === null) return refusedPrediction('HOLD_NOT_FOUND');
  const replayed = hold.closed;
  if (!replayed) release(hold, hold.held, 'give back');
  hold.closed = true;
  return oracle.done(tenant, null, hold, replayed);
}

export function applyPayOut(oracle: OracleState, tenant: Tenant, command: Of<'pay_out'>): Prediction {
  const before = oracle.before(tenant, command, 'payout', oracle.holds.get(command.holdId) ?? null);
  if (before !== null) return before;
  const hold = find(oracle, tenant, command.holdId, 'earnings');
  if (hold === null) return refusedPrediction('HOLD_NOT_FOUND');
  if (hold.closed) return refusedPrediction('HOLD_CLOSED');
  const { held } = hold;
  release(hold, held, 'charge');
  hold.posted = held;
  hold.closed = true;
  const legs: AmountsByAccount = new Map([
    [tenant.earned, -held],
    [oracle.systemAccount('payments_clearing', null, tenant.mode), held],
  ]);
  return oracle.done(tenant, oracle.enter(tenant, command, 'payout', legs, -held), hold);
}

export function applyPost(oracle: OracleState, tenant: Tenant, command: Of<'post'>): Prediction {
  const before = oracle.before(tenant, command, 'charge', oracle.holds.get(command.holdId) ?? null);
  if (before !== null) return before;
  const hold = find(oracle, tenant, command.holdId);
  if (hold === null) return refusedPrediction('HOLD_NOT_FOUND');
  if (hold.closed) {
    // Repeats an earlier close without a charge.
    const same = command.amount === 0n && command.afterwards === 'close';
    return same ? oracle.done(tenant, null, hold, true) : refusedPrediction('HOLD_CLOSED');
  }
  const transfer = command.amount === 0n ? null : charge(oracle, tenant, hold, command);
  if (command.afterwards === 'close') {
    release(hold, hold.held, 'give back');
    hold.closed = true;
  } else if (command.afterwards !== 'keep') {
    bringTo(oracle, hold, command.afterwards.target, 0n, 'running');
  }
  return oracle.done(tenant, transfer, hold);
}

function charge(oracle: OracleState, tenant: Tenant, hold: Hold, command: Of<'post'>): Transfer {
  const budgets = oracle.budgetsOf(tenant, command.keyId ?? hold.keyId);
  const fromHold = minBigint(command.amount, hold.held);
  const tight = oracle.tightest(budgets, 'running');
  const beyond = command.amount - fromHold;
  const allowed = command.beyondHold === 'operator' ? 0n : beyond;
  const more = oracle.draw(tenant.money, tight === null ? allowed : minBigint(allowed, tight.left));
  const legs: AmountsByAccount = new Map();
  for (const amounts of [release(hold, fromHold, 'charge'), more]) {
    for (const [account, part] of amounts) bump(legs, account, -part);
  }
  const paid = fromHold + sum(more.values());
  const shortfall = command.amount - paid;
  bump(legs, oracle.systemAccount('shortfall', null, tenant.mode), -shortfall);
  for (const share of command.to) bump(legs, oracle.account(share, tenant.mode), share.amount);
  oracle.count(legs, budgets, paid);
  hold.posted += paid;
  const transfer = oracle.enter(tenant, command, 'charge', legs, -paid, shortfall);
  oracle.notify(budgets);
  return transfer;
}
