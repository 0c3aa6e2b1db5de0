export * from './contract.ts';
export * from './deprecations.ts';
export * from './error-bodies.ts';
export * from './errors.ts';
export * from './events.ts';
export * from './operation.ts';
export { operatorAdjustmentMaxUsd } from './operations/own-admin-money.ts';
export { budgetLimitsMaxUsd, budgetsMax } from './operations/own-customer.ts';
export {
  apiKeyLimits,
  rotationOverlapSecondsMax,
  sshAlgorithms,
  type ApiKeyLimits,
} from './operations/own-keys.ts';
export { pageSizeDefault, pageSizeMax } from './operations/own-kit.ts';
export { placementBlockers, type PlacementBlocker } from './operations/own-rental-records.ts';
export * from './notices.ts';
export * from './pending.ts';
export * from './records/index.ts';
export { marketplaceFilterFields, type MarketplaceFilterField } from './records/marketplace.ts';
export * from './records/provider-data.ts';
export * from './records/vocabulary.ts';
export * from './scopes.ts';
export * from './states.ts';
