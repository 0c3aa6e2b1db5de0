import {
  applyLedger,
  findBudget,
  readBalance,
  type LedgerCommand,
  type LedgerResult,
} from '../ledger/index.ts';
import type { Tx } from '@millrace/platform/db';
import type { BudgetId, HoldId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import { isBeyondBudgets } from './beyond-budgets.ts';
import { findUnended, listTold, touchGateway } from './gateways.store.ts';
import type { BudgetLeft, LeaseReply, LeaseRequest } from './messages.ts';
import {
  believeRecalled,
  fitsLease,
  heldFor,
  mostPerLease,
  planLease,
  sizeGrant,
  type LeaseAmounts,
  type LeaseTimes,
  type SizeRules,
} from './pot.ts';
import {
  insertLease,
  listLentBudgets,
  lockLease,
  lockOpenLease,
  lockPot,
  putLentBudget,
  readServer,
  setCalm,
  sumClosing,
  sumClosingBudgets,
  updateLease,
  type Lease,
  type LentBudget,
  type LockedPot,
} from './pots.store.ts';
import type { PotServer } from './scripts.ts';

/** The book's half of lending: one transaction each, in which holds and leases change together. */

export interface LeaseRules extends LeaseTimes, SizeRules {
  /** How long after a recall a pot takes only what its requests need. */
  readonly calmMs: number;
}

type Refusal = Extract<LeaseReply, { outcome: 'refused' }>['reason'];

export type Lent =
  | {
      readonly outcome: 'opened' | 'enlarged';
      readonly lease: Lease;
      readonly budgets: readonly LentBudget[];
      readonly exceeded: readonly BudgetId[];
      readonly left: readonly BudgetLeft[];
      readonly returning: readonly BudgetId[];
      readonly endThrough: bigint;
    }
  | {
      readonly outcome: 'refused';
      readonly reason: Refusal;
      readonly available?: bigint;
      readonly endThrough: bigint;
    }
  /** The lease cannot grow further, or could be spent beyond a budget; it has to be retired first. */
  | { readonly outcome: 'full'; readonly lease: Lease }
  /** The server is no longer the present one. */
  | { readonly outcome: 'outdated' };

/** Names a change of a lease's hold in the ledger. */
function actOf(lease: Pick<Lease, 'orgId' | 'mode' | 'id'>, step: string) {
  return { orgId: lease.orgId, mode: lease.mode, cause: { kind: 'pot', id: lease.id }, step } as const;
}

function refusalOf(result: LedgerResult & { ok: false }): Refusal {
  if (result.reason === 'ACCOUNT_FROZEN') return 'frozen';
  return result.reason === 'INSUFFICIENT_BALANCE' ? 'no money' : 'budget exceeded';
}

/** What a hold that got less than it asked for means for what is granted. */
function grantedBy(before: LeaseAmounts, amount: bigint, held: bigint): bigint {
  const target = heldFor({ ...before, granted: before.granted + amount });
  return before.granted + amount - (target - held);
}

interface BudgetWish {
  readonly id: BudgetId;
  readonly lent: LentBudget | null;
  readonly shortage: bigint;
  readonly amount: bigint;
  readonly command: LedgerCommand;
}

/** The budgets that the request needs more of, unless they have grown since it looked. */
function wishBudgets(
  lease: Lease,
  lent: readonly LentBudget[],
  request: LeaseRequest,
  size: bigint,
): BudgetWish[] {
  const wishes: BudgetWish[] = [];
  for (const asked of request.budgets) {
    const found = lent.find(({ id }) => id === asked.id) ?? null;
    if (found !== null && found.granted > asked.granted) continue;
    const amount = [asked.shortage, asked.wanted, size].reduce((most, one) => (one > most ? one : most));
    const command: LedgerCommand =
      found === null
        ? {
            ...actOf(lease, `budget:${asked.id}`),
            do: 'hold',
            amount: nanoUsd(amount),
            atLeast: nanoUsd(asked.shortage),
            demand: 'new',
            onlyBudgets: [asked.id],
          }
        : {
            ...actOf(lease, `budget:${asked.id}:${found.changes + 1n}`),
            do: 'resize',
            holdId: found.holdId,
            target: nanoUsd(heldFor({ ...found, granted: found.granted + amount })),
            atLeast: nanoUsd(heldFor({ ...found, granted: found.granted + asked.shortage })),
            demand: 'new',
          };
    wishes.push({ id: asked.id, lent: found, shortage: asked.shortage, amount, command });
  }
  return wishes;
}

const noLease: LeaseAmounts = { granted: 0n, recalled: 0n, settled: 0n };

type Lacking = Pick<Extract<Lent, { lease: Lease; endThrough: bigint }>, 'exceeded' | 'left' | 'returning'>;

/** Records what of each budget was lent. Answers the others: those of which enough is on its way back are not exceeded. */
async function keepBudgets(
  tx: Tx,
  lease: Lease,
  wishes: readonly BudgetWish[],
  results: readonly LedgerResult[],
): Promise<Lacking> {
  const refused: { readonly id: BudgetId; readonly missing: bigint; readonly had: bigint }[] = [];
  for (const [index, wish] of wishes.entries()) {
    const result = results[index];
    if (result === undefined || !result.ok || result.holdId === null) {
      const available = result?.ok === false ? (result.available ?? 0n) : 0n;
      const had = available > 0n ? available : 0n;
      refused.push({ id: wish.id, missing: wish.shortage - had, had });
      continue;
    }
    const before = wish.lent ?? { ...noLease, id: wish.id, holdId: result.holdId, changes: -1n };
    const granted = grantedBy(before, wish.amount, result.held);
    await putLentBudget(tx, lease, { ...before, granted, changes: before.changes + 1n });
  }
  const ids = refused.map(({ id }) => id);
  if (ids.length === 0) return { exceeded: [], left: [], returning: [] };
  const back = await sumClosingBudgets(tx, lease, ids);
  const comesBack = ({ id, missing }: (typeof refused)[number]): boolean => (back.get(id) ?? 0n) >= missing;
  const returning = refused.filter(comesBack).map(({ id }) => id);
  const exceeded = refused.filter(({ id }) => !returning.includes(id));
  const left: BudgetLeft[] = [];
  for (const { id, had } of exceeded) left.push(await budgetLeft(tx, lease, id, had));
  return { exceeded: exceeded.map(({ id }) => id), left, returning };
}

async function budgetLeft(tx: Tx, { orgId, mode }: Lease, id: BudgetId, amount: bigint): Promise<BudgetLeft> {
  const budget = await findBudget(tx, orgId, mode, id);
  const endMs = budget?.periodEnd?.getTime() ?? null;
  const limit = budget?.limit ?? 0n;
  return { id, amount, limit, resetsInMs: endMs === null ? null : Math.max(0, endMs - tx.clock.nowMs()) };
}

/** A refusal by a pot whose own money is on its way back is not final. */
async function refuse(tx: Tx, request: LeaseRequest, reason: Refusal, available: bigint): Promise<Lent> {
  const returning = await sumClosing(tx, request);
  const endThrough = await findUnended(tx, request, request.gatewayId);
  const short = reason === 'no money' || reason === 'budget exceeded';
  const soon = short && returning > 0n && available + returning >= request.shortage;
  const had = available > 0n ? available : 0n;
  return { outcome: 'refused', reason: soon ? 'busy' : reason, available: had, endThrough };
}

export interface LendContext {
  readonly server: PotServer;
  readonly rules: LeaseRules;
}

/** Opens a lease for the pot, enlarges the open one, or only prolongs it. */
export async function lendInBook(tx: Tx, request: LeaseRequest, context: LendContext): Promise<Lent> {
  const { server, rules } = context;
  const present = await readServer(tx, request.cell);
  if (present?.generation !== server.generation) return { outcome: 'outdated' };
  const pot = await lockPot(tx, request);
  if (pot === null) return { outcome: 'refused', reason: 'no money', endThrough: 0n };
  await touchGateway(tx, request.gatewayId, request.cell);
  const lease = await lockOpenLease(tx, request);
  const { available, frozen } = await readBalance(tx, request.orgId, request.mode, tx.clock.now());
  if (frozen) return refuse(tx, request, 'frozen', 0n);
  // Gateways refuse such a request themselves: no lease could be counted exactly that held it.
  if (request.shortage > mostPerLease) return refuse(tx, request, 'no money', 0n);
  const plan = planLease(lease, { generation: server.generation, seen: request.seen });
  if (lease === null || plan === 'open')
    return openInBook(tx, request, context, { pot, old: null, available });
  if (plan === 'replace') return openInBook(tx, request, context, { pot, old: lease, available });
  if (await isBeyondBudgets(tx, lease)) return { outcome: 'full', lease };
  const now = tx.clock.now();
  const prolonged = { ...lease, expiresAt: new Date(now.getTime() + rules.leaseMs) };
  return enlargeInBook(tx, request, context, {
    pot,
    lease: prolonged,
    available,
    more: plan === 'enlarge',
  });
}

function isCalm(tx: Tx, pot: LockedPot): boolean {
  return pot.calmUntil !== null && pot.calmUntil > tx.clock.now();
}

async function openInBook(
  tx: Tx,
  request: LeaseRequest,
  { server, rules }: LendContext,
  {
    pot,
    old,
    available,
  }: { readonly pot: LockedPot; readonly old: Lease | null; readonly available: bigint },
): Promise<Lent> {
  const { orgId, mode, cell, shortage } = request;
  const now = tx.clock.now();
  const ending = old === null ? [] : await endInBook(tx, old);
  // What the old lease gives back in the same batch can be lent again in it.
  const past = { used: 0n, inMs: rules.outageMs };
  const { wanted } = request;
  const question = { shortage, wanted, remaining: 0n, past, available, calm: isCalm(tx, pot) };
  const size = sizeGrant(question, rules) ?? shortage;
  const draft: Lease = {
    ...noLease,
    id: tx.ids.next('lse'),
    orgId,
    mode,
    cell,
    epoch: pot.lastEpoch + 1n,
    generation: server.generation,
    holdId: '' as HoldId,
    changes: 0n,
    used: 0n,
    usedAt: now,
    state: 'open',
    expiresAt: new Date(now.getTime() + rules.leaseMs),
  };
  const fitting = fitsLease(draft, size) ? size : shortage;
  const wishes = wishBudgets(draft, [], request, fitting);
  const hold: LedgerCommand = {
    ...actOf(draft, 'open'),
    do: 'hold',
    amount: nanoUsd(fitting),
    atLeast: nanoUsd(shortage),
    demand: 'new',
  };
  const results = await applyLedger(tx, [...ending, hold, ...wishes.map(({ command }) => command)]);
  const result = results[ending.length];
  if (result === undefined) throw new Error('The ledger answered nothing to a hold.');
  if (!result.ok) {
    await giveUpBudgets(results.slice(ending.length + 1));
    return refuse(tx, request, refusalOf(result), result.available ?? 0n);
  }
  if (result.holdId === null) throw new Error('The ledger made a hold without an id.');
  const lease = { ...draft, holdId: result.holdId, granted: result.held };
  await insertLease(tx, lease);
  const lacking = await keepBudgets(tx, lease, wishes, results.slice(ending.length + 1));
  return {
    outcome: 'opened',
    lease,
    budgets: await listLentBudgets(tx, orgId, lease.id),
    ...lacking,
    endThrough: await findUnended(tx, request, request.gatewayId),
  };
}

/** Budget holds without their lease would stay for ever: the whole transaction must go. */
async function giveUpBudgets(results: readonly LedgerResult[]): Promise<void> {
  if (results.some((result) => result.ok)) throw new LeaseRefused();
}

/** Rolls back what was decided, so that it can be decided again without the budgets. */
export class LeaseRefused extends Error {}

async function enlargeInBook(
  tx: Tx,
  request: LeaseRequest,
  { rules }: LendContext,
  {
    pot,
    lease,
    available,
    more,
  }: { readonly pot: LockedPot; readonly lease: Lease; readonly available: bigint; readonly more: boolean },
): Promise<Lent> {
  const { orgId, seen, shortage, wanted } = request;
  const now = tx.clock.now();
  const remaining = seen?.remaining ?? 0n;
  const used = lease.granted - lease.recalled - remaining;
  const past = { used: used - lease.used, inMs: now.getTime() - lease.usedAt.getTime() };
  const size = more
    ? sizeGrant({ shortage, wanted, remaining, past, available, calm: isCalm(tx, pot) }, rules)
    : 0n;
  const amount = size ?? 0n;
  if (!fitsLease(lease, amount)) return { outcome: 'full', lease };
  const lent = await listLentBudgets(tx, orgId, lease.id);
  const wishes = wishBudgets(lease, lent, request, amount);
  const resize: LedgerCommand = {
    ...actOf(lease, `size:${lease.changes + 1n}`),
    do: 'resize',
    holdId: lease.holdId,
    target: nanoUsd(heldFor({ ...lease, granted: lease.granted + amount })),
    atLeast: nanoUsd(heldFor(more ? { ...lease, granted: lease.granted + shortage } : lease)),
    demand: 'new',
  };
  const grows = amount > 0n;
  const commands = [...(grows ? [resize] : []), ...wishes.map(({ command }) => command)];
  const results = await applyLedger(tx, commands);
  const lacking = await keepBudgets(tx, lease, wishes, grows ? results.slice(1) : results);
  const result = grows ? results[0] : undefined;
  if (size === null || result?.ok === false) {
    await updateLease(tx, orgId, lease);
    if (result?.ok !== false) return refuse(tx, request, 'no money', available);
    return refuse(tx, request, refusalOf(result), result.available ?? 0n);
  }
  const changed =
    result === undefined
      ? lease
      : {
          ...lease,
          granted: grantedBy(lease, amount, result.held),
          changes: lease.changes + 1n,
          used: used > 0n ? used : 0n,
          usedAt: now,
        };
  await updateLease(tx, orgId, changed);
  return {
    outcome: 'enlarged',
    lease: changed,
    budgets: await listLentBudgets(tx, orgId, lease.id),
    ...lacking,
    endThrough: await findUnended(tx, request, request.gatewayId),
  };
}

/**
 * Lends no more on a lease. One that nobody was ever told of is closed at once: nobody can have spent from it. Answers
 * what the ledger has to do then.
 */
async function endInBook(tx: Tx, lease: Lease): Promise<LedgerCommand[]> {
  const told = await listTold(tx, lease.orgId, lease.id);
  const state = told.length === 0 ? 'closed' : 'closing';
  await updateLease(tx, lease.orgId, { ...lease, state });
  return state === 'closed' ? closeCommands(lease, await listLentBudgets(tx, lease.orgId, lease.id)) : [];
}

export function closeCommands(lease: Lease, budgets: readonly LentBudget[]): LedgerCommand[] {
  return [
    { ...actOf(lease, 'close'), do: 'close', holdId: lease.holdId },
    ...budgets.map(({ id, holdId }): LedgerCommand => ({
      ...actOf(lease, `close:${id}`),
      do: 'close',
      holdId,
    })),
  ];
}

/** Brings the holds of a lease to what it sets aside after recalls. */
function shrinkCommands(lease: Lease, budgets: readonly LentBudget[]): LedgerCommand[] {
  const shrink = (step: string, amounts: LeaseAmounts & { readonly holdId: HoldId }): LedgerCommand => ({
    ...actOf(lease, step),
    do: 'resize',
    holdId: amounts.holdId,
    target: nanoUsd(heldFor(amounts)),
    atLeast: nanoUsd(0n),
    demand: 'running',
  });
  return [
    shrink(`size:${lease.changes}`, lease),
    ...budgets.map((lent) => shrink(`budget:${lent.id}:${lent.changes}`, lent)),
  ];
}

/** What Valkey says was taken back in all. */
export interface SaidRecalled {
  readonly recalled: bigint;
  readonly budgets: ReadonlyMap<BudgetId, bigint>;
}

/**
 * Records what Valkey has given back, brings the holds down to it, and ends the lease if asked to. Answers what became
 * available. `said` is null when Valkey could not be asked or has lost the pot: then nothing but the end is recorded.
 */
export async function takeBackInBook(
  tx: Tx,
  lease: Pick<Lease, 'orgId' | 'mode' | 'cell' | 'id'>,
  { said, act, rules }: { said: SaidRecalled | null; act: 'end' | 'keep'; rules: LeaseRules },
): Promise<bigint> {
  await lockPot(tx, lease);
  const before = await lockLease(tx, lease.orgId, lease.id);
  if (before === null || before.state === 'closed') return 0n;
  const budgets = await listLentBudgets(tx, lease.orgId, lease.id);
  const recalled = believeRecalled(before, said?.recalled ?? 0n);
  const after = { ...before, recalled, changes: before.changes + 1n };
  const lessBudgets = budgets.map((lent) => ({
    ...lent,
    recalled: believeRecalled(lent, said?.budgets.get(lent.id) ?? 0n),
    changes: lent.changes + 1n,
  }));
  await updateLease(tx, lease.orgId, after);
  for (const lent of lessBudgets) await putLentBudget(tx, lease, lent);
  if (act === 'keep') await setCalm(tx, lease, new Date(tx.clock.nowMs() + rules.calmMs));
  const ending = act === 'end' && before.state === 'open' ? await endInBook(tx, after) : [];
  await applyLedger(tx, [...shrinkCommands(after, lessBudgets), ...ending]);
  return heldFor(before) - heldFor(after);
}
