import type { Tx } from '@millrace/platform/db';
import type { LeaseId, RequestId } from '@millrace/platform/ids';
import { postUsage, type UsageItem } from '../../credit-leases/index.ts';
import { readMaxCosts } from './charge-bounds.ts';
import { deleteCheckpoints, listCheckpoints } from './checkpoints.store.ts';
import { insertRequests, recordLateFinals } from './requests.store.ts';
import { quantitiesOf, type NewRequestRecord, type RequestSource } from './requests.ts';
import { parseUsage, type ParsedUsage } from './parse-usage.ts';

/** The result of a batch, for metrics and alerts. */
export interface UsageSummary {
  /** Live requests that were not recorded before. */
  readonly recorded: number;
  readonly charged: bigint;
  /** Beyond the reservations: absorbed by the operator. */
  readonly shortfall: bigint;
  /** Not charged: the lease was closed or foreign, a checkpoint was already charged, or the request was overpriced. */
  readonly uncharged: number;
  /** Of these, requests above the maximum cost of their model. */
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

/** Charges and records each request once. If a checkpoint was already charged, the final event is recorded beside it. */
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
    if (used === undefined) throw new Error('The result contains usage that was not posted.');
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
 * Charges the last checkpoints of a dead gateway, or of a whole lease. Call it after the gateway's end was processed and before
 * its reservations are released, with the lease locked: a later final event is then recorded without a charge.
 */
export async function chargeCheckpoints(
  tx: Tx,
  left: { readonly leaseId: LeaseId; readonly gatewayId: string | null },
): Promise<void> {
  const events = await listCheckpoints(tx, left.leaseId, left.gatewayId);
  if (events.length > 0) await recordUsage(tx, events.map(parseUsage), 'checkpoint');
}
