import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../app/roots.tsx';
import { filtersOf } from './filters.ts';

export const catalogRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/',
    validateSearch: filtersOf,
    component: lazyRouteComponent(() => import('./catalog-page.tsx'), 'CatalogPage'),
  }),
] as const;
