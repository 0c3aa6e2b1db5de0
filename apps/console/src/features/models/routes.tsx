import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../app/roots.tsx';
import { readModelSearch } from './models.ts';

export const modelRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: 'models',
    validateSearch: readModelSearch,
    component: lazyRouteComponent(() => import('./models-page.tsx'), 'ModelsPage'),
  }),
] as const;
