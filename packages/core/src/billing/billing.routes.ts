import { serveMoneyTools, serveTransfers } from './admin.routes.ts';
import { serveBudgets, serveMoney } from './customer.routes.ts';
import type { BillingRoutes } from './route-kit.ts';

/** Binds every operation of this feature. */
export function serveBilling(routes: BillingRoutes): void {
  serveMoney(routes);
  serveBudgets(routes);
  serveMoneyTools(routes);
  serveTransfers(routes);
}
