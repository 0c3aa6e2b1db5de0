import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/roots.tsx';
import { chosen, oneOf, textOf } from '../../app/search.ts';
import { moneyTabs, supplierTabs } from './tabs.ts';

const getParentRoute = () => insideRoute;
type Search = Record<string, unknown>;

export const supplierRoutes = [
  createRoute({
    getParentRoute,
    path: 'supplier',
    validateSearch: (search: Search) => chosen({ tab: oneOf(search['tab'], supplierTabs) }),
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
      chosen({
        tab: oneOf(search['tab'], moneyTabs),
        from: textOf(search['from']),
        until: textOf(search['until']),
      }),
    component: lazyRouteComponent(() => import('./earnings-page.tsx'), 'EarningsPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'supplier/statements/$statementId',
    component: lazyRouteComponent(() => import('./statement-page.tsx'), 'StatementPage'),
  }),
] as const;
