import type { DriveParts } from './drive-parts.ts';
import { sameTask } from './drive-parts.ts';
import { beginPrivateCloud } from './private-cloud.service.ts';
import type { RentalView } from './rental.ts';
import { lockView } from './views.ts';

/** A private cloud that was agreed on for a later day is handed over when that has come. */
export async function handOverPrivateCloud(parts: DriveParts, view: RentalView): Promise<void> {
  await parts.db.transaction({ name: 'hand over private cloud', isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, view.rental);
    if (current === null || !sameTask(current.rental, view.rental)) return;
    await beginPrivateCloud(tx, current.rental, current.terms);
  });
}
