export { loopCatalog } from './catalog.ts';
export {
  defineLoop,
  retryDelayMs,
  type LoopDefinition,
  type PrivateLoop,
  type SharedLoop,
} from './definition.ts';
export {
  createItemRunner,
  type BatchWork,
  type ItemRunner,
  type ItemRunnerOptions,
  type ItemWork,
  type RunReport,
} from './item-runner.ts';
export { isItemAvailable, measureFailingLoops } from './loop-items.store.ts';
export { createItemCleanup } from './item-cleanup.ts';
