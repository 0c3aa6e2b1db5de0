import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/roots.tsx';

export const moneyRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'money',
    component: lazyRouteComponent(() => import('./money-page.tsx'), 'Page'),
  }),
] as const;
