export { openKeyFeed, type KeyFeed, type KeyFeedOptions } from './key-feed.ts';
export { mayUseModel, priceOf, hasActiveDeployment } from './model-catalog.ts';
export { toWireModelList, toWireModelPrice } from './wire.ts';
