import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/root-routes.tsx';

export const teamRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'team',
    component: lazyRouteComponent(() => import('./team-page.tsx'), 'TeamPage'),
  }),
] as const;
