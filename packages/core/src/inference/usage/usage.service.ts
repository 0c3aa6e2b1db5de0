import type { Tx } from '@millrace/platform/db';
import type { LeaseId, RequestId } from '@millrace/platform/ids';
import { postUsage, type UsageItem } from '../../credit-leases/index.ts';
import { readMaxCosts } from './charge-bounds.ts';
import { deleteCheckpoints, listCheckpoints } from './checkpoints.store.ts';
import { insertRequests, recordLateFinals } from './requests.store.ts';
import { quantitiesOf, type NewRequestRecord, type RequestSource } from './requests.ts';
import { parseUsage, type ParsedUsage } from './parse-usage.ts';

/** What was made of a batch, for metrics and alerts. */
export interface UsageSummary {
  /** Of live requests, those that were not known already. */
  readonly recorded: number;
  readonly charged: bigint;
  /** Beyond what had been reserved: borne by the operator. */
  readonly shortfall: bigint;
  /** Used and not charged: the lease was closed or another's, a checkpoint had been charged already, or it was overpriced. */
  readonly uncharged: number;
  /** Of these, requests that cost more than the highest possible cost of their model. */
  readonly overpriced: number;
}

function toUsageItem(used: ParsedUsage, leaseId: LeaseId, mostCost: bigint | undefined): UsageItem {
  const { requestId, orgId, keyId, budgets, event, amount, reserved, priced } = used;
  return {
    requestId,
    orgId,
    mode: event.mode,
    keyId,
    leaseId,
    gatewayId: event.gatewayId,
    product: event.model,
    amount,
    reserved,
    priced,
    ...(mostCost === undefined ? {} : { mostCost }),
    budgets,
    usedAtMs: event.createdAtMs,
    quantities: quantitiesOf(used),
  };
}

/**
 * Charges and records requests, each once for ever. A request that is known already changes nothing, unless it was charged
 * by a checkpoint and this is its final event: then that is kept beside it.
 */
export async function recordUsage(
  tx: Tx,
  requests: readonly ParsedUsage[],
  source: RequestSource,
): Promise<UsageSummary> {
  const distinct = new Map<RequestId, ParsedUsage>();
  for (const used of requests) if (!distinct.has(used.requestId)) distinct.set(used.requestId, used);
  const live = [...distinct.values()].filter(({ leaseId }) => leaseId !== null);
  const useOf = ({ orgId, event }: ParsedUsage) => ({ orgId, model: event.model });
  const boundOf = await readMaxCosts(tx, live.map(useOf));
  const leased = live.flatMap((used) =>
    used.leaseId === null ? [] : [{ used, item: toUsageItem(used, used.leaseId, boundOf(useOf(used))) }],
  );
  const posted = await postUsage(
    tx,
    leased.map(({ item }) => item),
  );
  const fresh: NewRequestRecord[] = [];
  const known: ParsedUsage[] = [];
  for (const [index, { outcome, amount, transferId }] of posted.entries()) {
    const used = leased[index]?.used;
    if (used === undefined) throw new Error('Usage was posted that nobody asked for.');
    if (outcome === 'duplicate') known.push(used);
    else fresh.push({ used: { ...used, amount }, source, outcome: outcome, transferId });
  }
  const free = [...distinct.values()].filter(({ leaseId }) => leaseId === null);
  await insertRequests(tx, [
    ...fresh,
    ...free.map((used) => ({ used, source, outcome: 'free', transferId: null }) as const),
  ]);
  const late = source === 'final' ? await recordLateFinals(tx, known) : 0;
  await deleteCheckpoints(tx, [...distinct.keys()]);
  return summariseUsage(fresh, late);
}

function summariseUsage(fresh: readonly NewRequestRecord[], late: number): UsageSummary {
  const charged = fresh.filter(({ outcome }) => outcome === 'charged');
  const sum = (amount: (used: ParsedUsage) => bigint): bigint =>
    charged.reduce((total, { used }) => total + amount(used), 0n);
  return {
    recorded: fresh.length + late,
    charged: sum(({ amount }) => amount),
    shortfall: sum(({ priced, amount }) => (priced > amount ? priced - amount : 0n)),
    uncharged: fresh.length - charged.length + late,
    overpriced: fresh.filter(({ outcome }) => outcome === 'overpriced').length,
  };
}

/**
 * Charges what a gateway that is gone had said last of the requests it left behind, or all that is left of a lease. To be
 * called between the end of the gateway being passed and its reservations being given back, with the lease locked: so a
 * final event that still comes finds the request charged, or its gateway settled, and is recorded without being charged.
 */
export async function chargeCheckpoints(
  tx: Tx,
  left: { readonly leaseId: LeaseId; readonly gatewayId: string | null },
): Promise<void> {
  const events = await listCheckpoints(tx, left.leaseId, left.gatewayId);
  if (events.length > 0) await recordUsage(tx, events.map(parseUsage), 'checkpoint');
}
