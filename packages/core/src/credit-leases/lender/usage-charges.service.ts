import type { Reader, Tx } from '@millrace/platform/db';
import { timeOf, type BudgetId, type LeaseId, type RequestId, type TransferId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import { applyLedger, requireLedgerSuccess, type LedgerCommand } from '../../ledger/index.ts';
import { heldAmount } from './lease-decisions.ts';
import { listSettledHolders } from './lease-holders.store.ts';
import {
  absorbedAmount,
  capAtHeld,
  capAtMaxCost,
  capAtLease,
  capAtReservation,
  groupUsage,
  usageOutcomeOf,
  type ClosedForUsage,
  type UsageGroup,
  type UsageItem,
  type UsagePostOutcome,
} from './usage-charges.ts';
import type { CreditLease } from './leases.store.ts';
import {
  addSettled,
  findCharges,
  insertCharges,
  listBudgetsOfLeases,
  lockLeases,
  readArchiveCutoff,
  readWatermarks,
  type ChargedBudget,
  type UsageCharge,
} from './usage-charges.store.ts';

export interface PostedUsage {
  readonly requestId: RequestId;
  readonly outcome: UsagePostOutcome;
  /** The charged amount if the outcome is `charged`; otherwise the reported amount, which is not charged. */
  readonly amount: bigint;
  readonly transferId: TransferId | null;
}

function chargeCommand(group: UsageGroup, lease: CreditLease): LedgerCommand {
  const { first } = group;
  const amount = nanoUsd(group.amount + group.absorbed);
  return {
    do: 'post',
    orgId: first.orgId,
    mode: first.mode,
    // Each request is charged once, so the first request identifies the transfer of the group.
    cause: { kind: 'inference', id: first.requestId },
    step: 'usage',
    holdId: lease.holdId,
    amount,
    to: [{ account: { kind: 'revenue', product: 'inference' }, amount }],
    afterwards: 'keep',
    // The organisation owes at most its reservations: a gateway that reports more cannot take from other reservations or
    // from the balance.
    mostFromHold: nanoUsd(group.amount),
    beyondHold: 'operator',
    ...(first.keyId === null ? {} : { keyId: first.keyId }),
    // Reports by model use this key.
    usage: { ...group.quantities, model: first.product },
    usedBy: group.usedBy,
    description: `Inference: ${first.product}`,
  };
}

interface BudgetShare {
  readonly grant: ChargedBudget;
  readonly amount: bigint;
}

function budgetSharesOf(items: readonly UsageItem[], granted: readonly ChargedBudget[]): BudgetShare[] {
  const totals = new Map<string, bigint>();
  for (const item of items) {
    for (const budget of new Set<BudgetId>(item.budgets)) {
      const key = `${item.leaseId} ${budget}`;
      totals.set(key, (totals.get(key) ?? 0n) + item.amount);
    }
  }
  return granted.flatMap((each) => {
    const amount = totals.get(`${each.leaseId} ${each.id}`) ?? 0n;
    return amount > 0n ? [{ grant: each, amount }] : [];
  });
}

/** Reduces the budget's grant by the charge; the charge itself then counts against the budget. */
function budgetCommand({ grant, amount }: BudgetShare, lease: CreditLease): LedgerCommand {
  return {
    do: 'resize',
    orgId: lease.orgId,
    mode: lease.mode,
    cause: { kind: 'pot', id: lease.id },
    step: `budget:${grant.id}:${grant.changes + 1n}`,
    holdId: grant.holdId,
    target: nanoUsd(heldAmount({ ...grant, settled: grant.settled + amount })),
    atLeast: nanoUsd(0n),
    demand: 'running',
  };
}

function requireFound<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`Usage was decided without ${what}.`);
  return value;
}

interface DecidedUsage {
  readonly item: UsageItem;
  readonly outcome: Exclude<UsagePostOutcome, 'duplicate'>;
}

/** The outcome of each item. The amounts of charged items are limited to what the hold of their lease can pay. */
function decideOutcomes(
  items: readonly UsageItem[],
  leases: ReadonlyMap<LeaseId, CreditLease>,
  closed: ClosedForUsage,
): readonly DecidedUsage[] {
  const decided = items.map((item): DecidedUsage => {
    const lease = leases.get(item.leaseId);
    const outcome = usageOutcomeOf(item, lease, closed);
    return { item: lease === undefined ? item : capAtLease(capAtMaxCost(item), lease), outcome };
  });
  const charged = decided.filter(({ outcome }) => outcome === 'charged').map(({ item }) => item);
  const cut = capAtHeld(charged, (id) => heldAmount(requireFound(leases.get(id), 'its lease')));
  const cutById = new Map(cut.map((item) => [item.requestId, item]));
  return decided.map((each) => ({ ...each, item: cutById.get(each.item.requestId) ?? each.item }));
}

/** No newer request is archived. Only the database decides, so a wrong clock here at most makes it refuse the batch. */
const NEVER_ARCHIVED_MS = 30 * 86_400_000;

async function readCutoffFor(tx: Tx, items: readonly UsageItem[]): Promise<string | null> {
  const oldMs = tx.clock.nowMs() - NEVER_ARCHIVED_MS;
  return items.some(({ requestId }) => timeOf(requestId) < oldMs) ? readArchiveCutoff(tx) : null;
}

/**
 * Charges a batch of usage, each request at most once. Usage of a closed lease or an archived
 * month, or above the maximum cost of its product, is recorded and never charged. Call it in the sink's transaction, after the sink's row locks.
 */
export async function postUsage(tx: Tx, items: readonly UsageItem[]): Promise<PostedUsage[]> {
  const distinct = new Map<RequestId, UsageItem>();
  for (const item of items) {
    if (!distinct.has(item.requestId)) distinct.set(item.requestId, capAtReservation(item));
  }
  const leases = await lockLeases(tx, [...new Set([...distinct.values()].map(({ leaseId }) => leaseId))]);
  // Read after the locks, so that charges of a concurrent sink are visible.
  const known = await findCharges(tx, [...distinct.keys()]);
  // Only the holders in the batch: a lease can have had any number of holders.
  const gatewayIds = new Set([...distinct.values()].map(({ gatewayId }) => gatewayId));
  const settled = await listSettledHolders(tx, [...leases.keys()], [...gatewayIds]);
  const fresh = [...distinct.values()].filter(({ requestId }) => !known.has(requestId));
  const archiveCutoff = await readCutoffFor(tx, fresh);
  const decided = decideOutcomes(fresh, leases, { settled, archiveCutoff });
  const payable = decided.filter(({ outcome }) => outcome === 'charged').map(({ item }) => item);
  const transfers = await charge(tx, payable, leases);
  const recorded = decided.map(({ item, outcome }): UsageCharge => {
    const leaseId = leases.has(item.leaseId) ? item.leaseId : null;
    const absorbed = outcome === 'charged' ? absorbedAmount(item) : 0n;
    return { ...item, leaseId, absorbed, transferId: transfers.get(item.requestId) ?? null, outcome };
  });
  await insertCharges(tx, recorded);
  const outcomes = new Map(decided.map(({ item, outcome }) => [item.requestId, outcome]));
  const amounts = new Map(decided.map(({ item }) => [item.requestId, item.amount]));
  return items.map(({ requestId, amount }) => {
    const outcome = outcomes.get(requestId) ?? 'duplicate';
    // The first item of a request gets its outcome; the others are duplicates.
    outcomes.delete(requestId);
    const transferId = transfers.get(requestId) ?? known.get(requestId)?.transferId ?? null;
    return { requestId, outcome, amount: amounts.get(requestId) ?? amount, transferId };
  });
}

async function charge(
  tx: Tx,
  items: readonly UsageItem[],
  leases: ReadonlyMap<LeaseId, CreditLease>,
): Promise<ReadonlyMap<RequestId, TransferId | null>> {
  if (items.length === 0) return new Map();
  const leaseOf = (id: LeaseId): CreditLease => requireFound(leases.get(id), 'its lease');
  const groups = groupUsage(items);
  const granted = await listBudgetsOfLeases(tx, [...new Set(items.map(({ leaseId }) => leaseId))]);
  const shares = budgetSharesOf(items, granted);
  const shrink = shares.map((share) => budgetCommand(share, leaseOf(share.grant.leaseId)));
  const charges = groups.map((group) => chargeCommand(group, leaseOf(group.first.leaseId)));
  const results = await applyLedger(tx, [...shrink, ...charges]);
  const transfers = new Map<RequestId, TransferId | null>();
  for (const [index, group] of groups.entries()) {
    const { transferId } = requireLedgerSuccess(results[shrink.length + index]);
    for (const { requestId } of group.items) transfers.set(requestId, transferId);
  }
  const totals = new Map<LeaseId, bigint>();
  for (const { leaseId, amount } of items) totals.set(leaseId, (totals.get(leaseId) ?? 0n) + amount);
  const settled = shares.map(({ grant: { leaseId, id }, amount }) => ({ leaseId, id, amount }));
  await addSettled(tx, totals, settled);
  return transfers;
}

/** The watermarks of all streams whose names begin with the prefix. */
export async function readUsageWatermarks(db: Reader, prefix: string): Promise<ReadonlyMap<string, bigint>> {
  return new Map([...(await readWatermarks(db))].filter(([stream]) => stream.startsWith(prefix)));
}

/** The highest watermark of these streams. */
export async function readHighestWatermark(db: Reader, beginning: string): Promise<bigint> {
  const places = await readUsageWatermarks(db, beginning);
  return [...places.values()].reduce((most, passed) => (passed > most ? passed : most), 0n);
}
