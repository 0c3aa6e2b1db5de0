import type { Mode } from '@millrace/platform/envelope';
import type { BudgetId, KeyId, LeaseId, OrgId, RequestId } from '@millrace/platform/ids';
import { monthOf } from '../../ledger/index.ts';
import type { CreditLease } from './leases.store.ts';

/** Which of a batch of usage is charged, and with what. No I/O. */

export interface UsageItem {
  readonly requestId: RequestId;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly keyId: KeyId | null;
  readonly leaseId: LeaseId;
  /** Under which id the gateway had been told of the lease. */
  readonly gatewayId: string;
  /** The model, or other thing used; requests of one product share a transfer. */
  readonly product: string;
  /** What the organisation pays, if that was set aside for it. */
  readonly amount: bigint;
  /** What had been set aside: the organisation pays no more. */
  readonly reserved: bigint;
  /** What it costs by its price. What the organisation does not pay of it is borne by the operator. */
  readonly priced: bigint;
  /** The highest believable cost of a request for this product; without it only the lease bounds the charge. */
  readonly mostCost?: bigint;
  /** The budgets that the reservation counted against. */
  readonly budgets: readonly BudgetId[];
  /** When the request came: its charge is of that month, if that is still open. */
  readonly usedAtMs: number;
  /** What was used, in whole units; summed over the transfer. */
  readonly quantities: Readonly<Record<string, number>>;
}

export type UsagePostOutcome = 'charged' | 'late' | 'duplicate' | 'unknown_lease' | 'overpriced';

/**
 * A lease pays for its own organisation and mode, while it is not closed, and for gateways not given up. Neither the organisation nor
 * the operator pays for a request that costs more than the highest possible cost of its product.
 */
export function usageOutcomeOf(
  item: Pick<UsageItem, 'orgId' | 'mode' | 'leaseId' | 'gatewayId' | 'amount' | 'mostCost'>,
  lease: Pick<CreditLease, 'orgId' | 'mode' | 'state'> | undefined,
  settled: ReadonlySet<string>,
): Exclude<UsagePostOutcome, 'duplicate'> {
  if (lease === undefined || lease.orgId !== item.orgId || lease.mode !== item.mode) return 'unknown_lease';
  if (lease.state === 'closed' || settled.has(`${item.leaseId} ${item.gatewayId}`)) return 'late';
  return item.mostCost !== undefined && item.amount > item.mostCost ? 'overpriced' : 'charged';
}

/** The same item, with a cost of at most `mostCost`: an engine that counts too much makes no request free. */
export function capAtMaxCost(item: UsageItem): UsageItem {
  const { mostCost, amount, priced } = item;
  if (mostCost === undefined || priced <= mostCost || amount > mostCost) return item;
  return { ...item, priced: mostCost };
}

/** The same item, with what is really charged for it: no more than was reserved, whatever a gateway says. */
export function capAtReservation(item: UsageItem): UsageItem {
  return item.amount <= item.reserved ? item : { ...item, amount: item.reserved };
}

/** Small leases: a request of a dollar is believed of each. */
const minBelievableCost = 1_000_000_000n;

/**
 * The same item, with no more than its lease makes believable: a reservation is a part of what the lease was granted, and an engine
 * exceeds it by no more than that again. Without this bound a hostile gateway could fill the operator's accounts with made-up prices.
 */
export function capAtLease(item: UsageItem, { granted }: { readonly granted: bigint }): UsageItem {
  const most = granted > minBelievableCost ? granted : minBelievableCost;
  const amount = item.amount > most ? most : item.amount;
  const priced = item.priced > amount + most ? amount + most : item.priced;
  return amount === item.amount && priced === item.priced ? item : { ...item, amount, priced };
}

/**
 * The same items, together charged no more than their leases still hold. The transfer of a group then equals the sum of its requests:
 * the ledger takes nothing beyond the hold, and the operator bears the rest.
 */
export function capAtHeld(items: readonly UsageItem[], heldOf: (leaseId: LeaseId) => bigint): UsageItem[] {
  const left = new Map<LeaseId, bigint>();
  return items.map((item) => {
    const held = left.get(item.leaseId) ?? heldOf(item.leaseId);
    const amount = item.amount > held ? held : item.amount;
    left.set(item.leaseId, held - amount);
    return amount === item.amount ? item : { ...item, amount };
  });
}

/** What the operator bears of it. */
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

/** One transfer for each organisation, mode, key, product, lease and month. */
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
    if (first === undefined) throw new Error('A group of usage without a member.');
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
