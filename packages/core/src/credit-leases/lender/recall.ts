import type { RecallRequest, ValkeyLeases } from '@millrace/credit-leases/protocol';
import type { CreditLease } from './leases.store.ts';

/** Recalls credit for another use: first in Valkey, then in the ledger, so that the hold always covers the lease. */

export interface RecallDeps {
  readonly findLease: () => Promise<CreditLease | null>;
  readonly valkeyLeasesOf: (generation: bigint) => Promise<ValkeyLeases | null>;
  /** Called when the server of the lease is no longer the current one. */
  readonly invalidateServer: () => void;
  /** Records the total that Valkey has returned. Resolves to the amount that became available. */
  readonly record: (lease: CreditLease, recalled: bigint) => Promise<bigint>;
}

/** A concurrent recall may record the amount that this one took; then this one repeats the call. */
const maxAttempts = 5;

/** Returns the amount that became available. */
export async function recallUpTo(request: RecallRequest, deps: RecallDeps): Promise<bigint> {
  // A recall can never exceed the grant.
  const wanted = request.amount === 'all' ? ((await deps.findLease())?.granted ?? 0n) : request.amount;
  let freed = 0n;
  for (let nth = 0; nth < maxAttempts && freed < wanted; nth += 1) {
    const got = await recallOnce({ ...request, amount: wanted - freed }, deps);
    freed += got.freed;
    if (got.isAll) break;
  }
  return freed;
}

/** `isAll`: the lease has no more unreserved credit. */
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
