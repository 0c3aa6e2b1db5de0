import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../app/root-routes.tsx';
import { parseFilters } from './filters.ts';

export const catalogRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/',
    validateSearch: parseFilters,
    component: lazyRouteComponent(() => import('./home-page.tsx'), 'HomePage'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: 'catalog',
    validateSearch: parseFilters,
    component: lazyRouteComponent(() => import('./catalog-page.tsx'), 'CatalogPage'),
  }),
] as const;
