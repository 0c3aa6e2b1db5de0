import type { Db } from '@millrace/platform/db';
import { skipInvoiceNumbers } from '../invoices/index.ts';
import { minEpochOf } from './restore-mark.ts';
import { endConfirming, lockRestoreState, readRestoreState, type RestoreState } from './restore.store.ts';

/** The steps of a confirmation. Each is idempotent: if a worker dies, the state stays and another worker starts again. */
export interface ConfirmSteps {
  readonly storeEvents: () => Promise<number>;
  readonly endLeases: (epochFloor: bigint) => Promise<number>;
  readonly quarantine: (state: RestoreState) => Promise<void>;
}

/** False if no restore is being confirmed, or another worker was first. */
export async function confirmRestore(db: Db, steps: ConfirmSteps): Promise<boolean> {
  const state = await readRestoreState(db);
  if (state.status !== 'confirming') return false;
  const generation = Math.max(state.generation, state.outside?.generation ?? 0) + 1;
  await steps.storeEvents();
  await steps.quarantine(state);
  await steps.endLeases(minEpochOf(generation));
  return db.transaction({ name: 'confirm restore', isolation: 'read committed' }, async (tx) => {
    const present = await lockRestoreState(tx);
    if (present.status !== 'confirming' || present.foundAt?.getTime() !== state.foundAt?.getTime())
      return false;
    const counters = present.outside?.counters;
    if (counters !== undefined) await skipInvoiceNumbers(tx, counters.invoices);
    const mark = Math.max(present.mark, present.outside?.mark ?? 0) + 1;
    return endConfirming(tx, { generation, mark });
  });
}
