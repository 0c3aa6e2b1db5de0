import { withSameTask, type ReconcileDeps } from './reconcile-deps.ts';
import { startPrivateCloud } from '../order/private-cloud.service.ts';
import type { RentalView } from '../model/rental.ts';

/** A private cloud that was agreed on for a later day is handed over when that has come. */
export function handOverPrivateCloud(deps: ReconcileDeps, view: RentalView): Promise<void> {
  return withSameTask(deps, view, 'hand over private cloud', (tx, current) =>
    startPrivateCloud(tx, current.rental, current.terms),
  );
}
