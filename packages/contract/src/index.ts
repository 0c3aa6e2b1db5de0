export * from './contract.ts';
export * from './deprecations.ts';
export * from './error-bodies.ts';
export * from './errors.ts';
export * from './events.ts';
export * from './operation.ts';
export { operatorAdjustmentMaxUsd } from './operations/admin/money.ts';
export { budgetLimitsMaxUsd, budgetsMax } from './operations/v2/billing.ts';
export {
  apiKeyLimits,
  rotationOverlapSecondsMax,
  sshAlgorithms,
  type ApiKeyLimits,
} from './operations/v2/keys.ts';
export { pageSizeDefault, pageSizeMax } from './operation-builders.ts';
export { placementBlockers, type PlacementBlocker } from './operations/v2/rental-schemas.ts';
export * from './notices.ts';
export * from './pending.ts';
export * from './records/index.ts';
export { marketplaceFilterFields, type MarketplaceFilterField } from './records/marketplace.ts';
export * from './records/provider-data.ts';
export * from './records/vocabulary.ts';
export * from './scopes.ts';
export * from './states.ts';
