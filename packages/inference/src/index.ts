export type { TextAdapter, TextStream, TokenCounts, EngineFailure } from './adapters/text/text-adapter.ts';
export {
  createRouter,
  type DeploymentView,
  type NoRoute,
  type Route,
  type Router,
  type RouterOptions,
  type RouteRequest,
  type UpstreamCall,
} from './routing/index.ts';
export { createEngineSlots, type EngineSlots } from './gateway/upstream/engine-slots.ts';
export { createUsageReporter, type UsageReporter, type UsageReporterOptions } from './usage/index.ts';
export { mayUseModel, openKeyFeed, priceOf, toWireModelList, toWireModelPrice } from './key-feed/index.ts';
export type { KeyFeed, KeyFeedOptions } from './key-feed/index.ts';
export {
  MediaEngineError,
  type MediaAdapter,
  type MediaContext,
  type MediaRequest,
  type MediaResponse,
  type SendUpstream,
} from './adapters/media/media-adapter.ts';
export { createMediaOperations, type MediaOperations } from './gateway/media/media-operations.ts';
export {
  capableDeployments,
  defaultModel,
  mediaCost,
  type MediaResponseContext,
  type MediaOperation,
  type MediaUnits,
  type RenderedMedia,
} from './gateway/media/media-operation.ts';
export { chatAdapterOf, isTextEngine, type TextEngine } from './adapters/text/chat-adapters.ts';
export { completionAdapterOf } from './adapters/text/completion-adapters.ts';
export { mockResponseTo, type MockResponse } from './adapters/text/mock-text-engine.ts';
export type { BodyReader, ParsedBody } from './wire/body-reader.ts';
export {
  chatChoices,
  requestedMaxTokens,
  createChatReader,
  hasImages,
  chatPrefix,
  maxChatPromptTokens,
  type ChatRequest,
} from './wire/chat-request.ts';
export {
  completionChoices,
  completionPrefix,
  maxCompletionPromptTokens,
  readCompletion,
  type CompletionRequest,
} from './wire/completion-request.ts';
export { createGateway, type Gateway, type GatewayOptions } from './gateway/gateway.ts';
