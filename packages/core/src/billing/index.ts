export { serveBilling } from './billing.routes.ts';
export type { BillingRoutes } from './route-deps.ts';
export { zeroBurnRate, type BalanceView, type ReadBurnRate } from './burn-rate.ts';
export { emitToppedUpEvent, FUNDING_THRESHOLD, recordDeposit } from './deposits.service.ts';
export { grantCredit, type GrantRequest } from './operator-transfers.service.ts';
export { createKeyBudget } from './budgets.service.ts';
export { firstRequestOf } from './inference-batches.ts';
export { usageUnits, type Usage, type UsageUnit } from './usage.ts';
