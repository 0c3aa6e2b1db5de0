import {
  bump,
  refusedPrediction,
  sum,
  type AmountsByAccount,
  type Of,
  type OracleState,
  type Prediction,
} from './oracle-state.ts';
import { freeIn, inSpendingOrder, minBigint, type Account, type Tenant, type Transfer } from './accounts.ts';

/** The oracle's commands that move money back. */

/** The part of each leg that was not moved back yet. Budgets are left out: they keep their counts. */
function remainingLegs(source: Transfer): [Account, bigint][] {
  return [...source.legs]
    .filter(([account]) => account.what !== 'budget')
    .map(([account, by]): [Account, bigint] => [account, by + (source.undone.get(account) ?? 0n)])
    .sort(([a], [b]) => (a.id < b.id ? -1 : 1));
}

export function applyRefund(oracle: OracleState, tenant: Tenant, command: Of<'refund'>): Prediction {
  const before = oracle.before(tenant, command, 'refund');
  if (before !== null) return before;
  const source = oracle.transfersById.get(command.transferId);
  if (source?.tenant !== tenant) return refusedPrediction('TRANSFER_NOT_FOUND');
  const left = remainingLegs(source);
  const payers = left.filter(([{ what }]) => what === 'credit' || what === 'promo');
  const most = payers.reduce((total, [, by]) => total - by, 0n);
  if (source.kind !== 'charge') return refusedPrediction('TRANSFER_NOT_REVERSIBLE', 0n);
  if (source.reversed || command.amount === 0n || command.amount > most) {
    return refusedPrediction('TRANSFER_NOT_REVERSIBLE', most);
  }
  const legs: AmountsByAccount = new Map();
  let toGive: bigint = command.amount;
  // Refund paid credit first, then promotional credit, last spent first.
  const order = inSpendingOrder(payers.map(([account]) => account)).reverse();
  order.sort((a, b) => Number(b.what === 'credit') - Number(a.what === 'credit'));
  for (const account of order) {
    const owed = -(payers.find(([payer]) => payer === account)?.[1] ?? 0n);
    const given = minBigint(toGive, owed);
    bump(legs, account, given);
    toGive -= given;
  }
  const takers = left.filter(([, by]) => by > 0n);
  const shares = inProportion(
    command.amount,
    takers.map(([, by]) => by),
  );
  takers.forEach(([account], index) => bump(legs, account, -(shares[index] ?? 0n)));
  const transfer = oracle.enter(tenant, command, 'refund', legs, command.amount);
  for (const [account, by] of legs) bump(source.undone, account, by);
  return oracle.done(tenant, transfer);
}

export function applyReverse(oracle: OracleState, tenant: Tenant, command: Of<'reverse'>): Prediction {
  const before = oracle.before(tenant, command, 'reversal');
  if (before !== null) return before;
  const source = oracle.transfersById.get(command.transferId);
  if (source?.tenant !== tenant) return refusedPrediction('TRANSFER_NOT_FOUND');
  const final = ['refund', 'reversal', 'budget', 'expiry'].includes(source.kind);
  if (final || source.reversed || source.undone.size > 0) return refusedPrediction('TRANSFER_NOT_REVERSIBLE');
  const entries = remainingLegs(source);
  for (const [account, by] of entries) {
    // A supplier's balance may become negative, a tenant's must not.
    if (account.what !== 'system' && account.what !== 'earned' && by > freeIn(account)) {
      return refusedPrediction('INSUFFICIENT_BALANCE', freeIn(account));
    }
  }
  const legs: AmountsByAccount = new Map(entries.map(([account, by]) => [account, -by]));
  const own = entries.filter(([{ what }]) => what === 'credit' || what === 'promo');
  const amount = own.reduce((total, [, by]) => total - by, 0n);
  const transfer = oracle.enter(tenant, command, 'reversal', legs, amount);
  if (source.kind === 'clawback') tenant.owed -= source.shortfall;
  for (const [account, by] of legs) bump(source.undone, account, by);
  source.reversed = true;
  return oracle.done(tenant, transfer);
}

export function applyExpire(oracle: OracleState, tenant: Tenant, command: Of<'expire'>): Prediction {
  const before = oracle.before(tenant, command, 'expiry');
  if (before !== null) return before;
  const account = tenant.money.find(({ name }) => name === oracle.promoNames.get(command.accountId));
  if (account?.expiresAtMs == null || account.expiresAtMs > oracle.nowMs) return oracle.done(tenant);
  const amount = freeIn(account);
  if (amount === 0n) return oracle.done(tenant);
  const legs: AmountsByAccount = new Map([
    [account, -amount],
    [oracle.systemAccount('grants', null, tenant.mode), amount],
  ]);
  return oracle.done(tenant, oracle.enter(tenant, command, 'expiry', legs, -amount));
}

/** Splits a total by weight; the remainder goes one by one to the shares that lost most by rounding. */
function inProportion(total: bigint, weights: readonly bigint[]): bigint[] {
  const whole = sum(weights);
  const shares = weights.map((weight) => (total * weight) / whole);
  const lost = weights.map((weight) => (total * weight) % whole);
  const order = weights.map((_, index) => index);
  order.sort((a, b) => {
    const [left = 0n, right = 0n] = [lost[a], lost[b]];
    return left > right ? -1 : left < right ? 1 : a - b;
  });
  let rest = total - sum(shares);
  for (const index of order) {
    if (rest === 0n) break;
    shares[index] = (shares[index] ?? 0n) + 1n;
    rest -= 1n;
  }
  return shares;
}
