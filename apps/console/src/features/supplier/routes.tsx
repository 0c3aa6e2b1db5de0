import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { insideRoute } from '../../app/root-routes.tsx';
import { withoutUndefined, enumParam, textParam } from '../../app/search-params.ts';
import { moneyTabs, supplierTabs } from './tabs.ts';

const getParentRoute = () => insideRoute;
type Search = Record<string, unknown>;
const parseMachinesSearch = (search: Search) =>
  withoutUndefined({ tab: enumParam(search['tab'], supplierTabs) });

export const supplierRoutes = [
  createRoute({
    getParentRoute,
    path: 'supplier',
    validateSearch: parseMachinesSearch,
    // The machines had this path before; links to the join tab still work.
    beforeLoad: ({ search }) => {
      if (search.tab !== undefined)
        redirect({ to: '/supplier/machines', search, replace: true, throw: true });
    },
    component: lazyRouteComponent(() => import('./overview/overview-page.tsx'), 'SupplierOverviewPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'supplier/machines',
    validateSearch: parseMachinesSearch,
    component: lazyRouteComponent(() => import('./supplier-page.tsx'), 'SupplierPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'supplier/machines/$machineId',
    component: lazyRouteComponent(() => import('./machine-page.tsx'), 'MachinePage'),
  }),
  createRoute({
    getParentRoute,
    path: 'supplier/earnings',
    validateSearch: (search: Search) =>
      withoutUndefined({
        tab: enumParam(search['tab'], moneyTabs),
        from: textParam(search['from']),
        until: textParam(search['until']),
      }),
    component: lazyRouteComponent(() => import('./earnings-page.tsx'), 'EarningsPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'supplier/statements/$statementId',
    component: lazyRouteComponent(() => import('./statement-page.tsx'), 'StatementPage'),
  }),
] as const;
