import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/roots.tsx';
import { parseFleetSearch } from './fleet-search.ts';
import {
  parseAuditorSearch,
  parseModelsSearch,
  parseOrganisationSearch,
  parseOrganisationsSearch,
  parsePricesSearch,
  parseAllRentalsSearch,
  parseSuppliersSearch,
  parseMaintenanceSearch,
} from './searches.ts';

const getParentRoute = () => insideRoute;

export const operatorRoutes = [
  createRoute({
    getParentRoute,
    path: 'operator',
    validateSearch: parseFleetSearch,
    component: lazyRouteComponent(() => import('./fleet-page.tsx'), 'FleetPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/nodes/$nodeId',
    component: lazyRouteComponent(() => import('./node-page.tsx'), 'NodePage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/maintenance',
    validateSearch: parseMaintenanceSearch,
    component: lazyRouteComponent(() => import('./maintenance-page.tsx'), 'MaintenancePage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/rentals',
    validateSearch: parseAllRentalsSearch,
    component: lazyRouteComponent(() => import('./rentals-page.tsx'), 'AllRentalsPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/providers',
    component: lazyRouteComponent(() => import('./providers-page.tsx'), 'ProvidersPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/prices',
    validateSearch: parsePricesSearch,
    component: lazyRouteComponent(() => import('./prices-page.tsx'), 'PricesPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/organisations',
    validateSearch: parseOrganisationsSearch,
    component: lazyRouteComponent(() => import('./organisations-page.tsx'), 'OrganisationsPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/organisations/$organisationId',
    validateSearch: parseOrganisationSearch,
    component: lazyRouteComponent(() => import('./organisation-page.tsx'), 'OrganisationPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/suppliers',
    validateSearch: parseSuppliersSearch,
    component: lazyRouteComponent(() => import('./suppliers-page.tsx'), 'SuppliersPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/models',
    validateSearch: parseModelsSearch,
    component: lazyRouteComponent(() => import('./models-page.tsx'), 'ModelCatalogPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/auditor',
    validateSearch: parseAuditorSearch,
    component: lazyRouteComponent(() => import('./auditor-page.tsx'), 'AuditorPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/auditor/$reportId',
    component: lazyRouteComponent(() => import('./report-page.tsx'), 'ReportPage'),
  }),
] as const;
