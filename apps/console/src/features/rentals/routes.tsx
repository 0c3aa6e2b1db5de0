import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/roots.tsx';

export const rentalRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'rentals',
    component: lazyRouteComponent(() => import('./rentals-page.tsx'), 'Page'),
  }),
] as const;
