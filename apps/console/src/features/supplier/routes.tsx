import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/roots.tsx';

export const supplierRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'supplier',
    component: lazyRouteComponent(() => import('./supplier-page.tsx'), 'Page'),
  }),
] as const;
