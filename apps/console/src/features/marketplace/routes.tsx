import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/roots.tsx';

export const marketplaceRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'marketplace',
    component: lazyRouteComponent(() => import('./marketplace-page.tsx'), 'Page'),
  }),
] as const;
