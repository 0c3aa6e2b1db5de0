import type { Tx } from '@millrace/platform/db';
import { lockRestoreState, lowerMarkedAt, recordRestored, readCounters } from './restore.store.ts';

export interface DeclaredRestore {
  /** Null: no worker has run since the restore, so the time of the mark is the restore point. */
  readonly restoredTo: Date | null;
  /** The highest invoice number that was sent; null if unknown. */
  readonly lastInvoice: number | null;
}

/**
 * Records a restore that no mark copy proves, because NATS and Valkey were lost or restored too. Numbers that were used after the
 * restore point are unknown, so wire ids continue above a margin. False if a restore is already recorded.
 */
export async function declareRestored(tx: Tx, declared: DeclaredRestore): Promise<boolean> {
  const { status, generation, mark, markedAt } = await lockRestoreState(tx);
  if (status !== 'normal') return false;
  const { restoredTo, lastInvoice } = declared;
  if (restoredTo !== null) await lowerMarkedAt(tx, restoredTo);
  const { invoices, wireIds } = await readCounters(tx);
  return recordRestored(tx, {
    generation,
    mark,
    at: markedAt.toISOString(),
    counters: { invoices: Math.max(invoices, lastInvoice ?? 0), wireIds },
  });
}
