export { serveBilling } from './billing.routes.ts';
export type { BillingRoutes } from './route-kit.ts';
export { zeroBurnRate, type BalanceView, type ReadBurnRate } from './balance.ts';
export { emitToppedUpEvent, FUNDING_THRESHOLD, recordDeposit } from './deposits.service.ts';
export { grantCredit, type GrantRequest } from './money-tools.service.ts';
export { createKeyBudget } from './budgets.service.ts';
export { firstRequestOf } from './batches.ts';
export { usageUnits, type Usage, type UsageUnit } from './usage.ts';
