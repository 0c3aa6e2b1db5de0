import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/root-routes.tsx';
import { parsePlaygroundSearch } from './search.ts';

export const playgroundRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'playground',
    validateSearch: parsePlaygroundSearch,
    component: lazyRouteComponent(() => import('./playground-page.tsx'), 'PlaygroundPage'),
  }),
] as const;
