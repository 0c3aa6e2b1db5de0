import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/root-routes.tsx';
import { parseInstanceSearch, parseMachineSearch } from './search.ts';

export const marketplaceRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'marketplace',
    validateSearch: parseMachineSearch,
    component: lazyRouteComponent(() => import('./marketplace-page.tsx'), 'MarketplacePage'),
  }),
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'marketplace/$nodeName',
    component: lazyRouteComponent(() => import('./rent-page.tsx'), 'RentPage'),
  }),
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'instances',
    validateSearch: parseInstanceSearch,
    component: lazyRouteComponent(() => import('./instances-page.tsx'), 'InstancesPage'),
  }),
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'instances/$name',
    component: lazyRouteComponent(() => import('./instance-page.tsx'), 'InstancePage'),
  }),
] as const;
