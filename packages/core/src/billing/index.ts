export { serveBilling } from './billing.routes.ts';
export type { BillingRoutes } from './route-kit.ts';
export { noBurn, type BalanceView, type BurnOf } from './balance.ts';
export { announceTopUp, FUNDING_THRESHOLD, noteDeposit } from './deposits.service.ts';
export { grant, type GrantWish } from './money-tools.service.ts';
export { openKeyBudget } from './budgets.service.ts';
export { firstRequestOf } from './batches.ts';
export { usageUnits, type Usage, type UsageUnit } from './usage.ts';
