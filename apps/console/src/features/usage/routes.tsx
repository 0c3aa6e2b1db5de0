import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/roots.tsx';

export const usageRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'usage',
    component: lazyRouteComponent(() => import('./usage-page.tsx'), 'Page'),
  }),
] as const;
