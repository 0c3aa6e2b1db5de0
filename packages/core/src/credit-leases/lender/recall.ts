import type { RecallRequest, ValkeyLeases } from '@millrace/credit-leases/protocol';
import type { CreditLease } from './leases.store.ts';

/** How money comes back from a pot for something else: first from Valkey, then into the book. */

export interface RecallDeps {
  readonly findLease: () => Promise<CreditLease | null>;
  readonly valkeyLeasesOf: (generation: bigint) => Promise<ValkeyLeases | null>;
  /** The server turned out to be another. */
  readonly invalidateServer: () => void;
  /** Writes what Valkey has given back in all. Answers what became available by that. */
  readonly record: (lease: CreditLease, recalled: bigint) => Promise<bigint>;
}

/** Another recall at the same time may record what this one was given; then this one asks again. */
const maxAttempts = 5;

/** Answers what became available. */
export async function recallUpTo(request: RecallRequest, deps: RecallDeps): Promise<bigint> {
  // Of a lease there is never more to take back than was given.
  const wanted = request.amount === 'all' ? ((await deps.findLease())?.granted ?? 0n) : request.amount;
  let freed = 0n;
  for (let nth = 0; nth < maxAttempts && freed < wanted; nth += 1) {
    const got = await recallOnce({ ...request, amount: wanted - freed }, deps);
    freed += got.freed;
    if (got.isAll) break;
  }
  return freed;
}

/** `isAll`: the pot has no more to give. */
async function recallOnce(
  { orgId, mode, amount }: RecallRequest & { readonly amount: bigint },
  { findLease, valkeyLeasesOf, invalidateServer, record }: RecallDeps,
): Promise<{ readonly freed: bigint; readonly isAll: boolean }> {
  const lease = await findLease();
  const leases = lease === null ? null : await valkeyLeasesOf(lease.generation);
  if (lease === null || leases === null) return { freed: 0n, isAll: true };
  const { epoch, recalled: known } = lease;
  const result = await leases.recall({ orgId, mode }, { epoch, known, wanted: amount });
  if (result.outcome === 'foreign') invalidateServer();
  if (result.outcome !== 'recalled') return { freed: 0n, isAll: true };
  const freed = await record(lease, result.recalled);
  return { freed, isAll: result.recalled - known < amount };
}
