import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/roots.tsx';
import { readInstanceSearch, readMachineSearch } from './search.ts';

export const marketplaceRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'marketplace',
    validateSearch: readMachineSearch,
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
    validateSearch: readInstanceSearch,
    component: lazyRouteComponent(() => import('./instances-page.tsx'), 'InstancesPage'),
  }),
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'instances/$name',
    component: lazyRouteComponent(() => import('./instance-page.tsx'), 'InstancePage'),
  }),
] as const;
