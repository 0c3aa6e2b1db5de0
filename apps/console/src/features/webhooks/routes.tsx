import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/roots.tsx';

export const webhookRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'webhooks',
    component: lazyRouteComponent(() => import('./webhooks-page.tsx'), 'Page'),
  }),
] as const;
