import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/roots.tsx';
import { parseSelection } from './picks.ts';

export const createRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'rent',
    validateSearch: parseSelection,
    component: lazyRouteComponent(() => import('./create-page.tsx'), 'CreatePage'),
  }),
] as const;
