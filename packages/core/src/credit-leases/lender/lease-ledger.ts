import { applyLedger, findBudget, readBalance } from '../../ledger/index.ts';
import type { LedgerCommand, LedgerResult } from '../../ledger/index.ts';
import {
  maxPerLease,
  type BudgetRemainder,
  type LeaseReply,
  type LeaseRequest,
  type LeaseServer,
} from '@millrace/credit-leases/protocol';
import type { Tx } from '@millrace/platform/db';
import type { BudgetId, HoldId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import { exceedsBudgets } from './budget-check.ts';
import { clampRecalled, fitsInLease, heldAmount, planLease, sizeGrant } from './lease-decisions.ts';
import type { LedgerAmounts, LeaseTimes, GrantSizeRules } from './lease-decisions.ts';
import { findEpochToEnd, listLeaseHolders, touchGateway } from './lease-holders.store.ts';
import {
  insertLease,
  listBudgetGrants,
  lockLease,
  lockOpenLease,
  lockLeaseSeries,
  upsertBudgetGrant,
  readServer,
  pauseGrowth,
  sumClosingHolds,
  sumClosingBudgetHolds,
  updateLease,
  type CreditLease,
  type BudgetGrant,
  type LeaseSeries,
} from './leases.store.ts';

/** Changes leases and their ledger holds together, in one transaction each. */

export interface LeaseRules extends LeaseTimes, GrantSizeRules {
  /** How long after a recall a lease grows only by what its requests need. */
  readonly growthPauseMs: number;
}

type ReplyErrorReason = Extract<LeaseReply, { outcome: 'refused' }>['reason'];

export type GrantResult =
  | {
      readonly outcome: 'opened' | 'enlarged';
      readonly lease: CreditLease;
      readonly budgets: readonly BudgetGrant[];
      readonly exceeded: readonly BudgetId[];
      readonly left: readonly BudgetRemainder[];
      readonly returning: readonly BudgetId[];
      readonly endThrough: bigint;
    }
  | {
      readonly outcome: 'refused';
      readonly reason: ReplyErrorReason;
      readonly available?: bigint;
      readonly endThrough: bigint;
    }
  /** The lease cannot grow further or exceeds a budget, so it must be closed first. */
  | { readonly outcome: 'full'; readonly lease: CreditLease }
  /** The server generation has changed. */
  | { readonly outcome: 'outdated' };

export type Granted = Extract<GrantResult, { endThrough: bigint; lease: CreditLease }>;

function ledgerCommandBase(lease: Pick<CreditLease, 'orgId' | 'mode' | 'id'>, step: string) {
  return { orgId: lease.orgId, mode: lease.mode, cause: { kind: 'pot', id: lease.id }, step } as const;
}

function errorReasonOf(result: LedgerResult & { ok: false }): ReplyErrorReason {
  if (result.reason === 'ACCOUNT_FROZEN') return 'frozen';
  return result.reason === 'INSUFFICIENT_BALANCE' ? 'no money' : 'budget exceeded';
}

/** The new granted amount if the ledger held less than requested. */
function grantedAfterHold(before: LedgerAmounts, amount: bigint, held: bigint): bigint {
  const target = heldAmount({ ...before, granted: before.granted + amount });
  return before.granted + amount - (target - held);
}

interface BudgetGrantPlan {
  readonly id: BudgetId;
  readonly current: BudgetGrant | null;
  readonly shortage: bigint;
  readonly amount: bigint;
  readonly command: LedgerCommand;
}

/** The budgets that need a larger grant, unless it grew after the gateway's observation. */
function planBudgetGrants(
  lease: CreditLease,
  granted: readonly BudgetGrant[],
  request: LeaseRequest,
  size: bigint,
): BudgetGrantPlan[] {
  const requests: BudgetGrantPlan[] = [];
  for (const budget of request.budgets) {
    const found = granted.find(({ id }) => id === budget.id) ?? null;
    if (found !== null && found.granted > budget.granted) continue;
    const amount = [budget.shortage, budget.wanted, size].reduce((most, one) => (one > most ? one : most));
    const command: LedgerCommand =
      found === null
        ? {
            ...ledgerCommandBase(lease, `budget:${budget.id}`),
            do: 'hold',
            amount: nanoUsd(amount),
            atLeast: nanoUsd(budget.shortage),
            demand: 'new',
            onlyBudgets: [budget.id],
          }
        : {
            ...ledgerCommandBase(lease, `budget:${budget.id}:${found.changes + 1n}`),
            do: 'resize',
            holdId: found.holdId,
            target: nanoUsd(heldAmount({ ...found, granted: found.granted + amount })),
            atLeast: nanoUsd(heldAmount({ ...found, granted: found.granted + budget.shortage })),
            demand: 'new',
          };
    requests.push({ id: budget.id, current: found, shortage: budget.shortage, amount, command });
  }
  return requests;
}

const zeroAmounts: LedgerAmounts = { granted: 0n, recalled: 0n, settled: 0n };

type BudgetShortages = Pick<Granted, 'exceeded' | 'left' | 'returning'>;

/** Records the budget grants. Returns the failed ones: `returning` if closing leases will return enough, else `exceeded`. */
async function recordBudgetGrants(
  tx: Tx,
  lease: CreditLease,
  requests: readonly BudgetGrantPlan[],
  results: readonly LedgerResult[],
): Promise<BudgetShortages> {
  const refused: { readonly id: BudgetId; readonly missing: bigint; readonly had: bigint }[] = [];
  for (const [index, request] of requests.entries()) {
    const result = results[index];
    if (result === undefined || !result.ok || result.holdId === null) {
      const available = result?.ok === false ? (result.available ?? 0n) : 0n;
      const had = available > 0n ? available : 0n;
      refused.push({ id: request.id, missing: request.shortage - had, had });
      continue;
    }
    const before = request.current ?? { ...zeroAmounts, id: request.id, holdId: result.holdId, changes: -1n };
    const granted = grantedAfterHold(before, request.amount, result.held);
    await upsertBudgetGrant(tx, lease, { ...before, granted, changes: before.changes + 1n });
  }
  const ids = refused.map(({ id }) => id);
  if (ids.length === 0) return { exceeded: [], left: [], returning: [] };
  const back = await sumClosingBudgetHolds(tx, lease, ids);
  const comesBack = ({ id, missing }: (typeof refused)[number]): boolean => (back.get(id) ?? 0n) >= missing;
  const returning = refused.filter(comesBack).map(({ id }) => id);
  const exceeded = refused.filter(({ id }) => !returning.includes(id));
  const left: BudgetRemainder[] = [];
  for (const { id, had } of exceeded) left.push(await readBudgetRemainder(tx, lease, id, had));
  return { exceeded: exceeded.map(({ id }) => id), left, returning };
}

async function readBudgetRemainder(
  tx: Tx,
  { orgId, mode }: CreditLease,
  id: BudgetId,
  amount: bigint,
): Promise<BudgetRemainder> {
  const budget = await findBudget(tx, orgId, mode, id);
  const endMs = budget?.periodEnd?.getTime() ?? null;
  const limit = budget?.limit ?? 0n;
  return { id, amount, limit, resetsInMs: endMs === null ? null : Math.max(0, endMs - tx.clock.nowMs()) };
}

/** A refusal is not final while closing leases will return money to the balance. */
async function refuseGrant(
  tx: Tx,
  request: LeaseRequest,
  reason: ReplyErrorReason,
  available: bigint,
): Promise<GrantResult> {
  const returning = await sumClosingHolds(tx, request);
  const endThrough = await findEpochToEnd(tx, request, request.gatewayId);
  const short = reason === 'no money' || reason === 'budget exceeded';
  const soon = short && returning > 0n && available + returning >= request.shortage;
  const had = available > 0n ? available : 0n;
  return { outcome: 'refused', reason: soon ? 'busy' : reason, available: had, endThrough };
}

export interface GrantContext {
  readonly server: LeaseServer;
  readonly rules: LeaseRules;
}

/** Opens a lease, enlarges the open one, or only renews it. */
export async function grantLease(tx: Tx, request: LeaseRequest, context: GrantContext): Promise<GrantResult> {
  const { server, rules } = context;
  const present = await readServer(tx, request.cell);
  if (present?.generation !== server.generation) return { outcome: 'outdated' };
  const series = await lockLeaseSeries(tx, request);
  if (series === null) return { outcome: 'refused', reason: 'no money', endThrough: 0n };
  await touchGateway(tx, request.gatewayId, request.cell);
  const lease = await lockOpenLease(tx, request);
  const { available, frozen } = await readBalance(tx, request.orgId, request.mode, tx.clock.now());
  if (frozen) return refuseGrant(tx, request, 'frozen', 0n);
  // Gateways reject such a request themselves: Lua could not count a lease of this size exactly.
  if (request.shortage > maxPerLease) return refuseGrant(tx, request, 'no money', 0n);
  const plan = planLease(lease, { generation: server.generation, seen: request.seen });
  if (lease === null || plan === 'open' || plan === 'replace')
    return openLeaseInLedger(tx, request, context, { series, old: lease, available });
  if (await exceedsBudgets(tx, lease)) return { outcome: 'full', lease };
  const now = tx.clock.now();
  const prolonged = { ...lease, expiresAt: new Date(now.getTime() + rules.leaseMs) };
  const more = plan === 'enlarge';
  return enlargeLeaseInLedger(tx, request, context, { series, lease: prolonged, available, more });
}

function isGrowthPaused(tx: Tx, lease: LeaseSeries): boolean {
  return lease.pausedUntil !== null && lease.pausedUntil > tx.clock.now();
}

async function openLeaseInLedger(
  tx: Tx,
  request: LeaseRequest,
  { server, rules }: GrantContext,
  { series, old, available }: { series: LeaseSeries; old: CreditLease | null; available: bigint },
): Promise<GrantResult> {
  const { orgId, mode, cell, shortage } = request;
  const now = tx.clock.now();
  const ending = old === null ? [] : await startClosingInLedger(tx, old);
  // The credit that the old lease returns in this batch can be granted again.
  const past = { used: 0n, inMs: rules.outageMs };
  const { wanted } = request;
  const question = { shortage, wanted, remaining: 0n, past, available, paused: isGrowthPaused(tx, series) };
  const size = sizeGrant(question, rules) ?? shortage;
  const draft: CreditLease = {
    ...zeroAmounts,
    id: tx.ids.next('lse'),
    orgId,
    mode,
    cell,
    epoch: series.lastEpoch + 1n,
    generation: server.generation,
    holdId: '' as HoldId,
    changes: 0n,
    used: 0n,
    usedAt: now,
    state: 'open',
    expiresAt: new Date(now.getTime() + rules.leaseMs),
  };
  const fitting = fitsInLease(draft, size) ? size : shortage;
  const requests = planBudgetGrants(draft, [], request, fitting);
  const hold: LedgerCommand = {
    ...ledgerCommandBase(draft, 'open'),
    do: 'hold',
    amount: nanoUsd(fitting),
    atLeast: nanoUsd(shortage),
    demand: 'new',
  };
  const results = await applyLedger(tx, [...ending, hold, ...requests.map(({ command }) => command)]);
  const result = results[ending.length];
  if (result === undefined) throw new Error('The ledger returned no result for a hold.');
  if (!result.ok) {
    rollBackBudgetHolds(results.slice(ending.length + 1));
    return refuseGrant(tx, request, errorReasonOf(result), result.available ?? 0n);
  }
  if (result.holdId === null) throw new Error('The ledger returned a hold without an id.');
  const lease = { ...draft, holdId: result.holdId, granted: result.held };
  await insertLease(tx, lease);
  const shortages = await recordBudgetGrants(tx, lease, requests, results.slice(ending.length + 1));
  return {
    outcome: 'opened',
    lease,
    budgets: await listBudgetGrants(tx, orgId, lease.id),
    ...shortages,
    endThrough: await findEpochToEnd(tx, request, request.gatewayId),
  };
}

/** Budget holds without their lease would remain permanently, so the whole transaction is rolled back. */
function rollBackBudgetHolds(results: readonly LedgerResult[]): void {
  if (results.some((result) => result.ok)) throw new RetryWithoutBudgets();
}

/** Rolls the transaction back, so that the grant is repeated without budgets. */
export class RetryWithoutBudgets extends Error {}

async function enlargeLeaseInLedger(
  tx: Tx,
  request: LeaseRequest,
  { rules }: GrantContext,
  {
    series,
    lease,
    available,
    more,
  }: { series: LeaseSeries; lease: CreditLease; available: bigint; more: boolean },
): Promise<GrantResult> {
  const { orgId, seen, shortage, wanted } = request;
  const now = tx.clock.now();
  const remaining = seen?.remaining ?? 0n;
  const used = lease.granted - lease.recalled - remaining;
  const past = { used: used - lease.used, inMs: now.getTime() - lease.usedAt.getTime() };
  const question = { shortage, wanted, remaining, past, available, paused: isGrowthPaused(tx, series) };
  const size = more ? sizeGrant(question, rules) : 0n;
  const amount = size ?? 0n;
  if (!fitsInLease(lease, amount)) return { outcome: 'full', lease };
  const granted = await listBudgetGrants(tx, orgId, lease.id);
  const requests = planBudgetGrants(lease, granted, request, amount);
  const resize: LedgerCommand = {
    ...ledgerCommandBase(lease, `size:${lease.changes + 1n}`),
    do: 'resize',
    holdId: lease.holdId,
    target: nanoUsd(heldAmount({ ...lease, granted: lease.granted + amount })),
    atLeast: nanoUsd(heldAmount(more ? { ...lease, granted: lease.granted + shortage } : lease)),
    demand: 'new',
  };
  const grows = amount > 0n;
  const commands = [...(grows ? [resize] : []), ...requests.map(({ command }) => command)];
  const results = await applyLedger(tx, commands);
  const shortages = await recordBudgetGrants(tx, lease, requests, grows ? results.slice(1) : results);
  const result = grows ? results[0] : undefined;
  if (size === null || result?.ok === false) {
    await updateLease(tx, orgId, lease);
    if (result?.ok !== false) return refuseGrant(tx, request, 'no money', available);
    return refuseGrant(tx, request, errorReasonOf(result), result.available ?? 0n);
  }
  const changed =
    result === undefined
      ? lease
      : {
          ...lease,
          granted: grantedAfterHold(lease, amount, result.held),
          changes: lease.changes + 1n,
          used: used > 0n ? used : 0n,
          usedAt: now,
        };
  await updateLease(tx, orgId, changed);
  return {
    outcome: 'enlarged',
    lease: changed,
    budgets: await listBudgetGrants(tx, orgId, lease.id),
    ...shortages,
    endThrough: await findEpochToEnd(tx, request, request.gatewayId),
  };
}

/** Stops grants on a lease and returns the ledger commands. A lease without holders closes at once: no gateway can spend. */
async function startClosingInLedger(tx: Tx, lease: CreditLease): Promise<LedgerCommand[]> {
  const holders = await listLeaseHolders(tx, lease.orgId, lease.id);
  const state = holders.length === 0 ? 'closed' : 'closing';
  await updateLease(tx, lease.orgId, { ...lease, state });
  return state === 'closed' ? closeCommands(lease, await listBudgetGrants(tx, lease.orgId, lease.id)) : [];
}

export function closeCommands(lease: CreditLease, budgets: readonly BudgetGrant[]): LedgerCommand[] {
  return [
    { ...ledgerCommandBase(lease, 'close'), do: 'close', holdId: lease.holdId },
    ...budgets.map(
      ({ id, holdId }) => ({ ...ledgerCommandBase(lease, `close:${id}`), do: 'close', holdId }) as const,
    ),
  ];
}

/** Reduces the holds of a lease to what remains after recalls. */
function shrinkCommands(lease: CreditLease, budgets: readonly BudgetGrant[]): LedgerCommand[] {
  const shrink = (step: string, amounts: LedgerAmounts & { readonly holdId: HoldId }): LedgerCommand => ({
    ...ledgerCommandBase(lease, step),
    do: 'resize',
    holdId: amounts.holdId,
    target: nanoUsd(heldAmount(amounts)),
    atLeast: nanoUsd(0n),
    demand: 'running',
  });
  return [
    shrink(`size:${lease.changes}`, lease),
    ...budgets.map((granted) => shrink(`budget:${granted.id}:${granted.changes}`, granted)),
  ];
}

/** The total recalled amounts that Valkey reported. */
export interface ReportedRecall {
  readonly recalled: bigint;
  readonly budgets: ReadonlyMap<BudgetId, bigint>;
}

/**
 * Records the recalled amounts, reduces the holds, and starts closing if requested. Returns the amount that became available.
 * `reported` is null if Valkey is unreachable or has lost the lease: then only the closing is recorded.
 */
export async function recordRecall(
  tx: Tx,
  lease: Pick<CreditLease, 'orgId' | 'mode' | 'cell' | 'id'>,
  { reported, action, rules }: { reported: ReportedRecall | null; action: 'end' | 'keep'; rules: LeaseRules },
): Promise<bigint> {
  await lockLeaseSeries(tx, lease);
  const before = await lockLease(tx, lease.orgId, lease.id);
  if (before === null || before.state === 'closed') return 0n;
  const budgets = await listBudgetGrants(tx, lease.orgId, lease.id);
  const recalled = clampRecalled(before, reported?.recalled ?? 0n);
  const after = { ...before, recalled, changes: before.changes + 1n };
  const lessBudgets = budgets.map((granted) => ({
    ...granted,
    recalled: clampRecalled(granted, reported?.budgets.get(granted.id) ?? 0n),
    changes: granted.changes + 1n,
  }));
  await updateLease(tx, lease.orgId, after);
  for (const granted of lessBudgets) await upsertBudgetGrant(tx, lease, granted);
  if (action === 'keep') await pauseGrowth(tx, lease, new Date(tx.clock.nowMs() + rules.growthPauseMs));
  const ending = action === 'end' && before.state === 'open' ? await startClosingInLedger(tx, after) : [];
  await applyLedger(tx, [...shrinkCommands(after, lessBudgets), ...ending]);
  return heldAmount(before) - heldAmount(after);
}
