import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { startReads } from '../../api/start-reads.ts';
import { insideRoute } from '../../app/root-routes.tsx';
import { parseRentalSearch, parseRentalsSearch, rentalIdParam } from './search.ts';
import { rentalRead } from './use-rental.ts';

export const rentalRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'rentals',
    validateSearch: parseRentalsSearch,
    component: lazyRouteComponent(() => import('./list/rentals-page.tsx'), 'RentalsPage'),
  }),
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'rentals/$rentalId',
    validateSearch: parseRentalSearch,
    loader: (match) => {
      const rentalId = rentalIdParam(match.params.rentalId);
      return startReads(match, () => (rentalId === null ? [] : [rentalRead(rentalId)]));
    },
    component: lazyRouteComponent(() => import('./detail/rental-page.tsx'), 'RentalPage'),
  }),
] as const;
