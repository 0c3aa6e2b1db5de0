import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/roots.tsx';

export const auditRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'audit',
    component: lazyRouteComponent(() => import('./audit-page.tsx'), 'Page'),
  }),
] as const;
