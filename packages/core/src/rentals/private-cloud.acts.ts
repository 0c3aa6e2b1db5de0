import type { ReconcileDeps } from './drive-parts.ts';
import { isSameTask } from './drive-parts.ts';
import { startPrivateCloud } from './private-cloud.service.ts';
import type { RentalView } from './rental.ts';
import { lockView } from './views.ts';

/** A private cloud that was agreed on for a later day is handed over when that has come. */
export async function handOverPrivateCloud(parts: ReconcileDeps, view: RentalView): Promise<void> {
  await parts.db.transaction({ name: 'hand over private cloud', isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, view.rental);
    if (current === null || !isSameTask(current.rental, view.rental)) return;
    await startPrivateCloud(tx, current.rental, current.terms);
  });
}
