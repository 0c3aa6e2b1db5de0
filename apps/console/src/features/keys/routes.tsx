import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/roots.tsx';

export const keyRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'keys',
    component: lazyRouteComponent(() => import('./keys-page.tsx'), 'Page'),
  }),
] as const;
