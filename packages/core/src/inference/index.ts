export {
  BOOK_FILLED,
  bookBucket,
  parseFilled,
  bookKeys,
  contractPartEntry,
  deploymentEntry,
  keyEntry,
  modelEntry,
  organisationEntry,
  type BookFilled,
  type ContractPartEntry,
  type DeploymentEntry,
  type EngineKind,
  type KeyEntry,
  type ModelEntry,
  type OrganisationEntry,
} from './book.ts';
export { usageBatch, usageEvent, usageSubjects, type UsageAttempt, type UsageEvent } from './usage-event.ts';
export { serveRequestUsage, type RequestRoutes } from './requests.routes.ts';
export { createDeferredCharges } from './deferred.service.ts';
export { keepUsageTables } from './sink-upkeep.ts';
export { startUsageSink, type SinkTuning, type UsageSinkOptions } from './sink.ts';
export { ensureUsageStream, type UsageStreamOptions } from './usage-stream.ts';
export { chargeCheckpoints } from './usage.service.ts';
export { createBookSync, keepBook, type BookKeeperOptions, type BookSync } from './book-sync.ts';
export { serveCatalog, type CatalogRoutes } from './catalog.routes.ts';
export { readOpenModels, type OpenModel } from './open-models.ts';
export { watchDeployments, type ProbedEngine, type ProbeEngine } from './deployment-health.ts';
