import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { startReads } from '../../api/start-reads.ts';
import { insideRoute } from '../../app/root-routes.tsx';
import { overviewReads } from './reads.ts';

export const overviewRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'overview',
    loader: (match) => startReads(match, overviewReads),
    component: lazyRouteComponent(() => import('./overview-page.tsx'), 'OverviewPage'),
  }),
] as const;
