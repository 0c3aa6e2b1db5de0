import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/root-routes.tsx';
import { parseUsageSearch } from './search.ts';

export const usageRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'usage',
    validateSearch: parseUsageSearch,
    component: lazyRouteComponent(() => import('./usage-page.tsx'), 'UsagePage'),
  }),
] as const;
