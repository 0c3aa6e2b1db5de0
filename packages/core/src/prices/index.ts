export { servePrices, type PriceRoutes } from './prices.routes.ts';
export {
  diskPriceFor,
  createGpuPriceLookup,
  createLivePriceLookup,
  modelPriceFor,
  quoteFor,
  volumePriceFor,
  type GpuPriceLookup,
  type QuoteRequest,
} from './prices.service.ts';
export type { LivePriceLookup } from './live-price.ts';
export { maxRecentCost, costBoundStart, type RequestSize } from './cost-bound.ts';
export { modelTimelines, type ModelPriceTimelines, type TimedModelPrice } from './model-timeline.ts';
export { toWireQuote, type WireQuote } from './prices.wire.ts';
export { listReserveOptions, readAllReserveOptions, readPricesOfModels } from './prices.store.ts';
export { resolveReserveOption } from './resolve-price.ts';
export type { MachineType, Price, PriceSubject, PriceUnit, ReserveOption } from './prices.ts';
export {
  DISCOUNTED_PRICE_ROUNDING,
  applyDiscount,
  freezeAgreedPrice,
  freezeStoragePrice,
  initialHold,
  buildQuote,
  QUOTE_VALID_MS,
  type PriceContext,
  type Quote,
  type QuoteInput,
  type QuoteLine,
  type RentalSpec,
} from './quote.ts';
export {
  priceAfterTerm,
  amountOf,
  commitmentOf,
  durationCost,
  earlyTerminationOf,
  parseFrozenPrice,
  rateOf,
  termMsOf,
  type EarlyTermination,
  type FrozenPrice,
} from './frozen-price.ts';
export {
  characterCost,
  DEFAULT_CHARACTER_NANO_USD,
  DEFAULT_IMAGE_NANO_USD,
  freezeModelPrice,
  frozenModelPrice,
  imageCost,
  requestCost,
  tokenCost,
  type FrozenModelPrice,
  type ImageSize,
  type RequestQuantities,
  type TokenCounts,
} from './inference-price.ts';
