import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/root-routes.tsx';
import { parseRentalSearch, parseRentalsSearch } from './search.ts';

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
    component: lazyRouteComponent(() => import('./detail/rental-page.tsx'), 'RentalPage'),
  }),
] as const;
