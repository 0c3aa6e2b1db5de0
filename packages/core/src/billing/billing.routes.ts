import { serveOperatorTransfers, serveTransfers } from './admin.routes.ts';
import { serveBudgets, serveBalanceAndUsage } from './tenant.routes.ts';
import type { BillingRoutes } from './route-deps.ts';

export function serveBilling(routes: BillingRoutes): void {
  serveBalanceAndUsage(routes);
  serveBudgets(routes);
  serveOperatorTransfers(routes);
  serveTransfers(routes);
}
