import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/roots.tsx';

export const operatorRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'operator',
    component: lazyRouteComponent(() => import('./operator-page.tsx'), 'Page'),
  }),
] as const;
