import type { ReconcileDeps } from './reconcile-deps.ts';
import { isSameTask } from './reconcile-deps.ts';
import { startPrivateCloud } from '../order/private-cloud.service.ts';
import type { RentalView } from '../model/rental.ts';
import { lockView } from '../model/rental-view.ts';

/** A private cloud that was agreed on for a later day is handed over when that has come. */
export async function handOverPrivateCloud(deps: ReconcileDeps, view: RentalView): Promise<void> {
  await deps.db.transaction({ name: 'hand over private cloud', isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, view.rental);
    if (current === null || !isSameTask(current.rental, view.rental)) return;
    await startPrivateCloud(tx, current.rental, current.terms);
  });
}
