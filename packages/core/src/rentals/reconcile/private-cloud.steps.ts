import { withSameTask, type ReconcileDeps } from './reconcile-deps.ts';
import { startPrivateCloud } from '../order/private-cloud.service.ts';
import type { RentalView } from '../model/rental.ts';

/** Hands a private cloud over on its start date. */
export function handOverPrivateCloud(deps: ReconcileDeps, view: RentalView): Promise<void> {
  return withSameTask(deps, view, 'hand over private cloud', (tx, current) =>
    startPrivateCloud(tx, current.rental, current.terms),
  );
}
