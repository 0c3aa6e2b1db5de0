import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/roots.tsx';
import { rentalSearch, rentalsSearch } from './search.ts';

export const rentalRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'rentals',
    validateSearch: rentalsSearch,
    component: lazyRouteComponent(() => import('./rentals-page.tsx'), 'RentalsPage'),
  }),
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'rentals/$rentalId',
    validateSearch: rentalSearch,
    component: lazyRouteComponent(() => import('./rental-page.tsx'), 'RentalPage'),
  }),
] as const;
