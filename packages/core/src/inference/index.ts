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
} from './book.ts';
export { usageBatch, usageEvent, usageSubjects, type UsageAttempt, type UsageEvent } from './usage-event.ts';
export { serveRequestUsage, type RequestRoutes } from './requests.routes.ts';
export { createDeferredUsageCharger } from './deferred.service.ts';
export { maintainUsageTables } from './sink-upkeep.ts';
export { startUsageSink, type SinkTuning, type UsageSinkOptions } from './sink.ts';
export { ensureUsageStream, type UsageStreamOptions } from './usage-stream.ts';
export { chargeCheckpoints } from './usage.service.ts';
export {
  createKeyFeedSync,
  maintainKeyFeed,
  type KeyFeedMaintenanceOptions,
  type KeyFeedSync,
} from './book-sync.ts';
export { serveCatalog, type CatalogRoutes } from './catalog.routes.ts';
export { readPublicModels, type PublicModel } from './open-models.ts';
export { monitorDeployments, type ProbedEngine, type ProbeEngine } from './deployment-health.ts';
