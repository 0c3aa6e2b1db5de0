import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/root-routes.tsx';
import { parseSelection } from '../catalog/selection.ts';

export const createRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'rent',
    validateSearch: parseSelection,
    component: lazyRouteComponent(() => import('./create-page.tsx'), 'CreatePage'),
  }),
] as const;
