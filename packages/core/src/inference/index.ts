export {
  KEY_FEED_FILL_STATE,
  keyFeedBucket,
  parseFillState,
  keyFeedKeys,
  contractPartEntry,
  deploymentEntry,
  keyEntry,
  modelEntry,
  organisationEntry,
  type KeyFeedFillState,
  type ContractPartEntry,
  type DeploymentEntry,
  type EngineKind,
  type KeyEntry,
  type ModelEntry,
  type OrganisationEntry,
} from './key-feed.ts';
export { createKeyFeedSealer, keyFeedSealContext, openEngineKey } from './key-feed/engine-keys.ts';
export { usageBatch, usageEvent, usageSubjects } from './usage/usage-event.ts';
export type { UsageAttempt, UsageEvent } from './usage/usage-event.ts';
export { serveRequestUsage, type RequestRoutes } from './usage/requests.routes.ts';
export { createDeferredUsageCharger } from './usage/deferred-usage.service.ts';
export { maintainUsageTables } from './usage/usage-table-maintenance.ts';
export { startUsageSink, type SinkTuning, type UsageSinkOptions } from './usage/sink.ts';
export { findLaterUsage, noLaterUsage, type LaterUsage } from './usage/later-usage.ts';
export { ensureUsageStream, type UsageStreamOptions } from './usage/usage-stream.ts';
export { chargeCheckpoints } from './usage/usage.service.ts';
export { createKeyFeedSync, maintainKeyFeed } from './key-feed/key-feed-sync.ts';
export type { KeyFeedMaintenanceOptions, KeyFeedSync } from './key-feed/key-feed-sync.ts';
export { usesPlaintext } from './catalog/catalog.ts';
export { hasModelWithoutEngine, listModelsOfDownEngines } from './catalog/catalog.store.ts';
export { serveCatalog, type CatalogRoutes } from './catalog/catalog.routes.ts';
export { readPublicModels, type PublicModel } from './catalog/public-models.ts';
export { monitorDeployments, type ProbedEngine, type ProbeEngine } from './catalog/deployment-health.ts';
export { processMessages } from './usage/sink.service.ts';
