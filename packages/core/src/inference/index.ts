export {
  BOOK_BUCKET,
  bookKeys,
  deploymentEntry,
  keyEntry,
  modelEntry,
  organisationEntry,
  type DeploymentEntry,
  type EngineKind,
  type KeyEntry,
  type ModelEntry,
  type OrganisationEntry,
} from './book.ts';
export {
  usageBatch,
  usageEvent,
  usageSubjects,
  type UsageAttempt,
  type UsageEvent,
} from './usage-event.ts';
