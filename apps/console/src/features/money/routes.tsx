import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/root-routes.tsx';
import { parseLedgerSearch } from './ledger.ts';

export const moneyRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'money',
    // Return page of the checkout. The parameter proves nothing, so the page reads the payment's state.
    validateSearch: ({ back }: Record<string, unknown>): { back?: 'paid' | 'cancelled' } =>
      back === 'paid' || back === 'cancelled' ? { back } : {},
    component: lazyRouteComponent(() => import('./money-page.tsx'), 'MoneyPage'),
  }),
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'ledger',
    validateSearch: parseLedgerSearch,
    component: lazyRouteComponent(() => import('./ledger-page.tsx'), 'LedgerPage'),
  }),
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'budgets',
    component: lazyRouteComponent(() => import('./budgets-page.tsx'), 'BudgetsPage'),
  }),
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'invoices',
    component: lazyRouteComponent(() => import('./invoices-page.tsx'), 'InvoicesPage'),
  }),
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'invoices/$invoiceId',
    component: lazyRouteComponent(() => import('./invoice-page.tsx'), 'InvoicePage'),
  }),
] as const;
