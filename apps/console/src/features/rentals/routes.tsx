import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/roots.tsx';
import { parseRentalSearch, parseRentalsSearch } from './search.ts';

export const rentalRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'rentals',
    validateSearch: parseRentalsSearch,
    component: lazyRouteComponent(() => import('./rentals-page.tsx'), 'RentalsPage'),
  }),
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'rentals/$rentalId',
    validateSearch: parseRentalSearch,
    component: lazyRouteComponent(() => import('./rental-page.tsx'), 'RentalPage'),
  }),
] as const;
