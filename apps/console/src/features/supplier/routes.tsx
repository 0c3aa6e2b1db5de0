import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/root-routes.tsx';
import { withoutUndefined, enumParam, textParam } from '../../app/search-params.ts';
import { moneyTabs, supplierTabs } from './tabs.ts';

const getParentRoute = () => insideRoute;
type Search = Record<string, unknown>;

export const supplierRoutes = [
  createRoute({
    getParentRoute,
    path: 'supplier',
    validateSearch: (search: Search) => withoutUndefined({ tab: enumParam(search['tab'], supplierTabs) }),
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
