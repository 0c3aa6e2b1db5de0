import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/roots.tsx';
import { readSearch } from './search.ts';

export const playgroundRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'playground',
    validateSearch: readSearch,
    component: lazyRouteComponent(() => import('./playground-page.tsx'), 'PlaygroundPage'),
  }),
] as const;
