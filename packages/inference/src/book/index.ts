export { openKeyFeed, type KeyFeed, type KeyFeedOptions } from './book.ts';
export { mayUseModel, priceOf, hasActiveDeployment } from './catalog.ts';
export { toWireModelList, toWireModelPrice } from './wire.ts';
