import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../app/root-routes.tsx';
import { parseModelSearch } from './models.ts';

export const modelRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: 'models',
    validateSearch: parseModelSearch,
    component: lazyRouteComponent(() => import('./models-page.tsx'), 'ModelsPage'),
  }),
] as const;
