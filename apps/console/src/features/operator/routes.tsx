import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/roots.tsx';
import { fleetSearch } from './fleet-search.ts';
import {
  auditorSearch,
  modelsSearch,
  organisationSearch,
  organisationsSearch,
  pricesSearch,
  rentalsSearch,
  suppliersSearch,
  windowsSearch,
} from './searches.ts';

const getParentRoute = () => insideRoute;

export const operatorRoutes = [
  createRoute({
    getParentRoute,
    path: 'operator',
    validateSearch: fleetSearch,
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
    validateSearch: windowsSearch,
    component: lazyRouteComponent(() => import('./maintenance-page.tsx'), 'MaintenancePage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/rentals',
    validateSearch: rentalsSearch,
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
    validateSearch: pricesSearch,
    component: lazyRouteComponent(() => import('./prices-page.tsx'), 'PricesPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/organisations',
    validateSearch: organisationsSearch,
    component: lazyRouteComponent(() => import('./organisations-page.tsx'), 'OrganisationsPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/organisations/$organisationId',
    validateSearch: organisationSearch,
    component: lazyRouteComponent(() => import('./organisation-page.tsx'), 'OrganisationPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/suppliers',
    validateSearch: suppliersSearch,
    component: lazyRouteComponent(() => import('./suppliers-page.tsx'), 'SuppliersPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/models',
    validateSearch: modelsSearch,
    component: lazyRouteComponent(() => import('./models-page.tsx'), 'ModelCatalogPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/auditor',
    validateSearch: auditorSearch,
    component: lazyRouteComponent(() => import('./auditor-page.tsx'), 'AuditorPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'operator/auditor/$reportId',
    component: lazyRouteComponent(() => import('./report-page.tsx'), 'ReportPage'),
  }),
] as const;
