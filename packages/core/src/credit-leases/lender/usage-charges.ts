import type { Mode } from '@millrace/platform/envelope';
import { toUuid, type BudgetId, type KeyId, type LeaseId, type OrgId } from '@millrace/platform/ids';
import type { RequestId } from '@millrace/platform/ids';
import { monthOf } from '../../ledger/index.ts';
import type { CreditLease } from './leases.store.ts';

/** Decides which usage of a batch is charged, and how much. Pure. */

export interface UsageItem {
  readonly requestId: RequestId;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly keyId: KeyId | null;
  readonly leaseId: LeaseId;
  /** The holder id under which the gateway received the lease. */
  readonly gatewayId: string;
  /** The model or other product; requests of one product share a transfer. */
  readonly product: string;
  /** The reported charge. `capAtReservation` limits it to the reservation. */
  readonly amount: bigint;
  /** The reserved amount: the organisation pays no more. */
  readonly reserved: bigint;
  /** The full price. The part that the organisation does not pay is absorbed by the operator. */
  readonly priced: bigint;
  /** The maximum plausible cost of a request for this product; without it only the lease limits the charge. */
  readonly mostCost?: bigint;
  readonly budgets: readonly BudgetId[];
  /** When the request arrived. The charge belongs to that month if the month is still open. */
  readonly usedAtMs: number;
  /** Used quantities in whole units, summed over the transfer. */
  readonly quantities: Readonly<Record<string, number>>;
}

export type UsagePostOutcome = 'charged' | 'late' | 'duplicate' | 'unknown_lease' | 'overpriced';

/** Settled holders and archived months, to which no usage is charged. */
export interface ClosedForUsage {
  /** Leases and holders that are settled, as `lease holder`. */
  readonly settled: ReadonlySet<string>;
  /** Requests with smaller ids are archived and may have been charged; null if none of the batch can be. */
  readonly archiveCutoff: string | null;
}

/**
 * A lease pays for its organisation and mode until it is closed, and for holders that are not settled. A request above the
 * maximum cost of its product is paid neither by the organisation nor by the operator.
 */
export function usageOutcomeOf(
  item: Pick<UsageItem, 'requestId' | 'orgId' | 'mode' | 'leaseId' | 'gatewayId' | 'amount' | 'mostCost'>,
  lease: Pick<CreditLease, 'orgId' | 'mode' | 'state'> | undefined,
  { settled, archiveCutoff }: ClosedForUsage,
): Exclude<UsagePostOutcome, 'duplicate'> {
  if (archiveCutoff !== null && toUuid(item.requestId) < archiveCutoff) return 'late';
  if (lease === undefined || lease.orgId !== item.orgId || lease.mode !== item.mode) return 'unknown_lease';
  if (lease.state === 'closed' || settled.has(`${item.leaseId} ${item.gatewayId}`)) return 'late';
  return item.mostCost !== undefined && item.amount > item.mostCost ? 'overpriced' : 'charged';
}

/** Limits the price to `mostCost`, so that an engine that counts too much does not make the request free. */
export function capAtMaxCost(item: UsageItem): UsageItem {
  const { mostCost, amount, priced } = item;
  if (mostCost === undefined || priced <= mostCost || amount > mostCost) return item;
  return { ...item, priced: mostCost };
}

/** Limits the charge to the reservation, whatever the gateway reports. */
export function capAtReservation(item: UsageItem): UsageItem {
  return item.amount <= item.reserved ? item : { ...item, amount: item.reserved };
}

/** For small leases: a request of 1 USD is always plausible. */
const minBelievableCost = 1_000_000_000n;

/**
 * Limits an item to what its lease makes plausible: a reservation is part of the grant, and an engine exceeds it by at most
 * the same amount. Without this limit a hostile gateway could post invented prices to the operator's accounts.
 */
export function capAtLease(item: UsageItem, { granted }: { readonly granted: bigint }): UsageItem {
  const most = granted > minBelievableCost ? granted : minBelievableCost;
  const amount = item.amount > most ? most : item.amount;
  const priced = item.priced > amount + most ? amount + most : item.priced;
  return amount === item.amount && priced === item.priced ? item : { ...item, amount, priced };
}

/** Limits charges to what the leases still hold, so that the transfer of a group equals the sum of its requests. */
export function capAtHeld(items: readonly UsageItem[], heldOf: (leaseId: LeaseId) => bigint): UsageItem[] {
  const left = new Map<LeaseId, bigint>();
  return items.map((item) => {
    const held = left.get(item.leaseId) ?? heldOf(item.leaseId);
    const amount = item.amount > held ? held : item.amount;
    left.set(item.leaseId, held - amount);
    return amount === item.amount ? item : { ...item, amount };
  });
}

export function absorbedAmount({ amount, priced }: Pick<UsageItem, 'amount' | 'priced'>): bigint {
  return priced > amount ? priced - amount : 0n;
}

export interface UsageGroup {
  readonly first: UsageItem;
  readonly items: readonly UsageItem[];
  readonly amount: bigint;
  readonly absorbed: bigint;
  readonly usedBy: Date;
  readonly quantities: Readonly<Record<string, number>>;
}

/** Makes one transfer per organisation, mode, key, product, lease and month. */
export function groupUsage(items: readonly UsageItem[]): UsageGroup[] {
  const groups = new Map<string, UsageItem[]>();
  for (const item of items) {
    const monthMs = monthOf(new Date(item.usedAtMs)).getTime();
    const key = [item.orgId, item.mode, item.keyId ?? '', item.leaseId, monthMs, item.product].join(' ');
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return [...groups.values()].map((members) => {
    const [first] = members;
    if (first === undefined) throw new Error('A usage group has no items.');
    const quantities: Record<string, number> = { requests: members.length };
    for (const { quantities: used } of members) {
      for (const [name, count] of Object.entries(used)) quantities[name] = (quantities[name] ?? 0) + count;
    }
    return {
      first,
      items: members,
      amount: members.reduce((sum, { amount }) => sum + amount, 0n),
      absorbed: members.reduce((sum, member) => sum + absorbedAmount(member), 0n),
      usedBy: new Date(members.reduce((latest, { usedAtMs }) => Math.max(latest, usedAtMs), 0)),
      quantities,
    };
  });
}
