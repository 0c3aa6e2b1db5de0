/** Models the Valkey scripts as pure functions, which tests compare with the scripts. Amounts are nano-USD, times milliseconds. */

/** The amounts of a lease, or of one budget in it. All of them only increase, except `reserved`. */
export interface ValkeyAmounts {
  readonly granted: bigint;
  readonly recalled: bigint;
  readonly reserved: bigint;
  readonly spent: bigint;
}

export function remainingOf(amounts: ValkeyAmounts): bigint {
  return amounts.granted - amounts.recalled - amounts.reserved - amounts.spent;
}

export interface ModelReservation {
  readonly amount: bigint;
  readonly budgets: readonly string[];
}

/** The state of a lease in Valkey. */
export interface ModelLease {
  readonly leaseId: string;
  readonly epoch: bigint;
  readonly amounts: ValkeyAmounts;
  readonly budgets: ReadonlyMap<string, ValkeyAmounts>;
  /** Keyed by gateway and request, joined by a colon. */
  readonly reservations: ReadonlyMap<string, ModelReservation>;
  readonly admitUntilMs: number;
  readonly closed: boolean;
}

export interface ModelGrant {
  readonly leaseId: string;
  readonly epoch: bigint;
  readonly granted: bigint;
  readonly budgets: ReadonlyMap<string, bigint>;
  readonly admitUntilMs: number;
}

export interface ModelReserveRequest {
  readonly epoch: bigint;
  readonly reservation: string;
  readonly amount: bigint;
  /** The smallest amount that the request accepts. */
  readonly least: bigint;
  readonly budgets: readonly string[];
  readonly nowMs: number;
}

export type ModelReserveResult =
  | { readonly outcome: 'admitted'; readonly amount: bigint; readonly remaining: bigint }
  | { readonly outcome: 'gone' | 'closed' | 'expired' }
  | ({ readonly outcome: 'dry' } & ModelInsufficientAmounts)
  | ({ readonly outcome: 'budget dry'; readonly budget: string } & ModelInsufficientAmounts);

interface ModelInsufficientAmounts {
  readonly remaining: bigint;
  /** Reserved by other requests, which return the unused part when they end. */
  readonly reserved: bigint;
}

type ModelTransition<T> = readonly [answer: T, pot: ModelLease | null];

const zeroValkeyAmounts: ValkeyAmounts = { granted: 0n, recalled: 0n, reserved: 0n, spent: 0n };

function maxOf(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}

function minOf(left: bigint, right: bigint): bigint {
  return left < right ? left : right;
}

function isEpochOf(lease: ModelLease | null, epoch: bigint): lease is ModelLease {
  return lease !== null && lease.epoch === epoch;
}

function changeAmounts(
  lease: ModelLease,
  budgets: readonly string[],
  change: (amounts: ValkeyAmounts) => ValkeyAmounts,
): ModelLease {
  const changed = new Map(lease.budgets);
  for (const budget of budgets) changed.set(budget, change(changed.get(budget) ?? zeroValkeyAmounts));
  return { ...lease, amounts: change(lease.amounts), budgets: changed };
}

/**
 * An epoch is opened once. Credit that Valkey lost is granted again under a new epoch. An epoch that belongs to another
 * lease was used by a ledger that has since been restored, so the new lease must not take over its credit.
 */
export function openLease(old: ModelLease | null, grant: ModelGrant): ModelTransition<'opened' | 'stale'> {
  if (old !== null && old.epoch === grant.epoch && old.leaseId === grant.leaseId) return ['opened', old];
  if (old !== null && old.epoch >= grant.epoch) return ['stale', old];
  const budgets = new Map([...grant.budgets].map(([id, granted]) => [id, { ...zeroValkeyAmounts, granted }]));
  const { leaseId, epoch, admitUntilMs } = grant;
  const amounts = { ...zeroValkeyAmounts, granted: grant.granted };
  return [
    'opened',
    { leaseId, epoch, amounts, budgets, reservations: new Map(), admitUntilMs, closed: false },
  ];
}

/** Raises the grant to an absolute amount, so that late and duplicate messages change nothing. */
export function enlargeLease(
  lease: ModelLease | null,
  grant: ModelGrant,
): ModelTransition<'granted' | 'gone' | 'closed'> {
  if (!isEpochOf(lease, grant.epoch) || lease.leaseId !== grant.leaseId) return ['gone', lease];
  if (lease.closed) return ['closed', lease];
  const budgets = new Map(lease.budgets);
  for (const [id, granted] of grant.budgets) {
    const before = budgets.get(id) ?? zeroValkeyAmounts;
    budgets.set(id, { ...before, granted: maxOf(before.granted, granted) });
  }
  const amounts = { ...lease.amounts, granted: maxOf(lease.amounts.granted, grant.granted) };
  const admitUntilMs = Math.max(lease.admitUntilMs, grant.admitUntilMs);
  return ['granted', { ...lease, amounts, budgets, admitUntilMs }];
}

/** Reserves the maximum cost of a request, or returns why not. Repeating an admitted request admits it. */
export function reserveFromModel(
  lease: ModelLease | null,
  request: ModelReserveRequest,
): ModelTransition<ModelReserveResult> {
  if (!isEpochOf(lease, request.epoch)) return [{ outcome: 'gone' }, lease];
  const remaining = remainingOf(lease.amounts);
  const before = lease.reservations.get(request.reservation);
  if (before !== undefined) return [{ outcome: 'admitted', amount: before.amount, remaining }, lease];
  if (lease.closed) return [{ outcome: 'closed' }, lease];
  if (request.nowMs >= lease.admitUntilMs) return [{ outcome: 'expired' }, lease];
  const { reserved: inUse } = lease.amounts;
  if (request.least > remaining) return [{ outcome: 'dry', remaining, reserved: inUse }, lease];
  let amount = minOf(request.amount, remaining);
  for (const budget of request.budgets) {
    const amounts = lease.budgets.get(budget) ?? zeroValkeyAmounts;
    const left = remainingOf(amounts);
    if (request.least > left) {
      return [{ outcome: 'budget dry', budget, remaining: left, reserved: amounts.reserved }, lease];
    }
    amount = minOf(amount, left);
  }
  const reserved = changeAmounts(lease, request.budgets, (amounts) => ({
    ...amounts,
    reserved: amounts.reserved + amount,
  }));
  const reservations = new Map(lease.reservations).set(request.reservation, {
    amount,
    budgets: request.budgets,
  });
  return [
    { outcome: 'admitted', amount, remaining: remaining - amount },
    { ...reserved, reservations },
  ];
}

/** Replaces a reservation by the amount used. Usage beyond the reservation also counts. */
export function settleInModel(
  lease: ModelLease | null,
  end: { readonly epoch: bigint; readonly reservation: string; readonly actual: bigint },
): ModelTransition<'settled' | 'gone'> {
  const reservation = lease?.reservations.get(end.reservation);
  if (!isEpochOf(lease, end.epoch) || reservation === undefined) return ['gone', lease];
  const settled = changeAmounts(lease, reservation.budgets, (amounts) => ({
    ...amounts,
    reserved: amounts.reserved - reservation.amount,
    spent: amounts.spent + end.actual,
  }));
  const reservations = new Map(lease.reservations);
  reservations.delete(end.reservation);
  return ['settled', { ...settled, reservations }];
}

/** Recalls unreserved credit. `known` is the recalled amount in the ledger: an unrecorded earlier recall counts towards this one. */
export function recallFromModel(
  lease: ModelLease | null,
  request: { readonly epoch: bigint; readonly known: bigint; readonly wanted: bigint },
): ModelTransition<{ readonly recalled: bigint } | 'gone'> {
  if (!isEpochOf(lease, request.epoch)) return ['gone', lease];
  const before = lease.amounts.recalled;
  const missing = request.wanted - (before - request.known);
  const taken = maxOf(0n, minOf(missing, remainingOf(lease.amounts)));
  const recalled = before + taken;
  return [{ recalled }, { ...lease, amounts: { ...lease.amounts, recalled } }];
}

/** Ends admission permanently and recalls all unreserved credit, including that of the budgets. */
export function closeLease(lease: ModelLease | null, epoch: bigint): ModelTransition<'closed' | 'gone'> {
  if (!isEpochOf(lease, epoch)) return ['gone', lease];
  const closed = changeAmounts(lease, [...lease.budgets.keys()], (amounts) => ({
    ...amounts,
    recalled: amounts.recalled + maxOf(0n, remainingOf(amounts)),
  }));
  return ['closed', { ...closed, closed: true }];
}
