import type { Db, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import type { BatchId, KeyId, OrgId, RequestId, TransferId } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { insertRequest, testIds, uniqueId } from '@millrace/testing';
import { applyLedger, requireLedgerSuccess, type LedgerCommand } from './ledger/index.ts';

/** Moves money as other features do. */

export const usd = (dollars: number): NanoUsd => nanoUsd(BigInt(Math.round(dollars * 1e9)));

export interface Charge {
  readonly amount: NanoUsd;
  readonly mode?: Mode;
  readonly cause?: { readonly kind: string; readonly id: string };
  readonly keyId?: KeyId;
  readonly usage?: Readonly<Record<string, number | string>>;
}

export function inTransaction<T>({ db }: { readonly db: Db }, work: (tx: Tx) => Promise<T>): Promise<T> {
  return db.transaction({ name: 'test', isolation: 'read committed' }, work);
}

export async function apply(at: { readonly db: Db }, command: LedgerCommand): Promise<TransferId> {
  const [result] = await inTransaction(at, (tx) => applyLedger(tx, [command]));
  const { transferId } = requireLedgerSuccess(result);
  if (transferId === null) throw new Error('no money moved');
  return transferId;
}

export function charge(at: { readonly db: Db }, orgId: OrgId, request: Charge): Promise<TransferId> {
  const { amount, mode = 'live', cause = { kind: 'rental', id: uniqueId() }, keyId, usage } = request;
  return apply(at, {
    do: 'debit',
    kind: 'charge',
    orgId,
    mode,
    cause,
    step: `charge:${uniqueId()}`,
    amount,
    to: [{ account: { kind: 'revenue', product: 'rental' }, amount }],
    whenShort: 'refuse',
    description: 'A rental',
    ...(keyId === undefined ? {} : { keyId }),
    ...(usage === undefined ? {} : { usage }),
  });
}

export function credit(at: { readonly db: Db }, orgId: OrgId, request: Charge): Promise<TransferId> {
  const { amount, mode = 'live', cause = { kind: 'payment', id: uniqueId() } } = request;
  return apply(at, {
    do: 'credit',
    kind: 'top_up',
    orgId,
    mode,
    cause,
    step: 'paid',
    amount,
    from: [{ account: { kind: 'payments_clearing' }, amount }],
    description: 'A payment',
  });
}

/**
 * Inserts requests that one ledger line charged, as the usage sink does. Returns their ids; the first names the batch.
 */
export async function insertBatch(
  db: Db,
  orgId: OrgId,
  costs: readonly bigint[],
): Promise<readonly RequestId[]> {
  const ids = costs.map(() => testIds.next('req'));
  const [first] = ids;
  if (first === undefined) throw new Error('A batch has at least one request.');
  const amount = nanoUsd(costs.reduce((sum, cost) => sum + cost, 0n));
  await credit({ db }, orgId, { amount });
  const transferId = await charge({ db }, orgId, { amount, cause: { kind: 'inference', id: first } });
  for (const [index, id] of ids.entries()) {
    await insertRequest(db, { orgId, id, cost: costs[index] ?? 0n, transferId });
  }
  return ids;
}

export const batchIdOf = (firstRequest: RequestId): BatchId =>
  firstRequest.replace('req_', 'bat_') as BatchId;
