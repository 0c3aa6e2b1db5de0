import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/root-routes.tsx';

export const volumeRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'volumes',
    component: lazyRouteComponent(() => import('./volumes-page.tsx'), 'VolumesPage'),
  }),
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'volumes/$volumeId',
    component: lazyRouteComponent(() => import('./volume-page.tsx'), 'VolumePage'),
  }),
] as const;
