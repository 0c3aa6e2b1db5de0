import { createRouter } from '@tanstack/react-router';
import { accountRoutes, signInRoutes } from './features/account/routes.tsx';
import { auditRoutes } from './features/audit/routes.tsx';
import { catalogRoutes } from './features/catalog/routes.tsx';
import { createRoutes } from './features/create/routes.tsx';
import { keyRoutes } from './features/keys/routes.tsx';
import { marketplaceRoutes } from './features/marketplace/routes.tsx';
import { modelRoutes } from './features/models/routes.tsx';
import { moneyRoutes } from './features/money/routes.tsx';
import { operatorRoutes } from './features/operator/routes.tsx';
import { overviewRoutes } from './features/overview/routes.tsx';
import { playgroundRoutes } from './features/playground/routes.tsx';
import { rentalRoutes } from './features/rentals/routes.tsx';
import { supplierRoutes } from './features/supplier/routes.tsx';
import { teamRoutes } from './features/team/routes.tsx';
import { usageRoutes } from './features/usage/routes.tsx';
import { volumeRoutes } from './features/volumes/routes.tsx';
import { webhookRoutes } from './features/webhooks/routes.tsx';
import { PageSkeleton } from './ui/skeleton.tsx';
import { NotFound, PageFailure } from './app/page-failure.tsx';
import { insideRoute, rootRoute, shellRoute } from './app/root-routes.tsx';

const routeTree = rootRoute.addChildren([
  ...signInRoutes,
  shellRoute.addChildren([
    ...catalogRoutes,
    ...modelRoutes,
    insideRoute.addChildren([
      ...overviewRoutes,
      ...createRoutes,
      ...rentalRoutes,
      ...volumeRoutes,
      ...marketplaceRoutes,
      ...playgroundRoutes,
      ...usageRoutes,
      ...moneyRoutes,
      ...keyRoutes,
      ...webhookRoutes,
      ...teamRoutes,
      ...auditRoutes,
      ...accountRoutes,
      ...supplierRoutes,
      ...operatorRoutes,
    ]),
  ]),
]);

export const router = createRouter({
  routeTree,
  basepath: '/console',
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultNotFoundComponent: NotFound,
  defaultErrorComponent: PageFailure,
  defaultPendingComponent: () => <PageSkeleton what="the page" title />,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
