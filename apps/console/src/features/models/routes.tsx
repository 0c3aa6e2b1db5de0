import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../app/roots.tsx';

export const modelRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: 'models',
    component: lazyRouteComponent(() => import('./models-page.tsx'), 'Page'),
  }),
] as const;
