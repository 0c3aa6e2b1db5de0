import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { insideRoute } from '../../app/root-routes.tsx';
import { parseFleetSearch } from './fleet/fleet-search.ts';
import {
  parseAuditorSearch,
  parseModelsSearch,
  parseOrganisationSearch,
  parseOrganisationsSearch,
  parsePricesSearch,
  parseAllRentalsSearch,
  parseSuppliersSearch,
  parseMaintenanceSearch,
} from './common/search-params.ts';

const getParentRoute = () => insideRoute;

export const operatorRoutes = [
  createRoute({
    getParentRoute,
    path: 'operator',
    validateSearch: parseFleetSearch,
    // The fleet had this path before; links to a filtered fleet still work.
    beforeLoad: ({ search }) => {
      if (Object.keys(search).length > 0)
        redirect({ to: '/operator/fleet', search, replace: true, throw: true });
    },
    component: lazyRouteComponent(() => import('./overview/overview-page.tsx'), 'OperatorOverviewPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/health',
    component: lazyRouteComponent(() => import('./health/health-page.tsx'), 'HealthPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/fleet',
    validateSearch: parseFleetSearch,
    component: lazyRouteComponent(() => import('./fleet/fleet-page.tsx'), 'FleetPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/nodes/$nodeId',
    component: lazyRouteComponent(() => import('./fleet/node-page.tsx'), 'NodePage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/maintenance',
    validateSearch: parseMaintenanceSearch,
    component: lazyRouteComponent(() => import('./maintenance/maintenance-page.tsx'), 'MaintenancePage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/rentals',
    validateSearch: parseAllRentalsSearch,
    component: lazyRouteComponent(() => import('./rentals/rentals-page.tsx'), 'AllRentalsPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/providers',
    component: lazyRouteComponent(() => import('./providers/providers-page.tsx'), 'ProvidersPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/prices',
    validateSearch: parsePricesSearch,
    component: lazyRouteComponent(() => import('./prices/prices-page.tsx'), 'PricesPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/organisations',
    validateSearch: parseOrganisationsSearch,
    component: lazyRouteComponent(
      () => import('./organisations/organisations-page.tsx'),
      'OrganisationsPage',
    ),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/organisations/$organisationId',
    validateSearch: parseOrganisationSearch,
    component: lazyRouteComponent(() => import('./organisations/organisation-page.tsx'), 'OrganisationPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/suppliers',
    validateSearch: parseSuppliersSearch,
    component: lazyRouteComponent(() => import('./suppliers/suppliers-page.tsx'), 'SuppliersPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/models',
    validateSearch: parseModelsSearch,
    component: lazyRouteComponent(() => import('./models/models-page.tsx'), 'ModelCatalogPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/auditor',
    validateSearch: parseAuditorSearch,
    component: lazyRouteComponent(() => import('./auditor/auditor-page.tsx'), 'AuditorPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/auditor/$reportId',
    component: lazyRouteComponent(() => import('./auditor/report-page.tsx'), 'ReportPage'),
  }),
] as const;
