export type { TextAdapter, TextStream, TokenCounts, EngineFailure } from './adapters/adapter.ts';
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
export { createEngineSlots, type EngineSlots } from './gateway/engine-slots.ts';
export { createUsageReporter, type UsageReporter, type UsageReporterOptions } from './usage/index.ts';
export {
  mayUseModel,
  openKeyFeed,
  priceOf,
  toWireModelList,
  toWireModelPrice,
  type KeyFeed,
  type KeyFeedOptions,
} from './book/index.ts';
export {
  MediaEngineError,
  type MediaAdapter,
  type MediaContext,
  type MediaRequest,
  type MediaResponse,
  type SendUpstream,
} from './adapters/media.ts';
export { createMediaOperations, type MediaOperations } from './wire/media-operations.ts';
export {
  capableDeployments,
  defaultModel,
  mediaCost,
  type MediaAnswerContext,
  type MediaOperation,
  type MediaUnits,
  type RenderedMedia,
} from './wire/media.ts';
export { chatAdapterOf, isTextEngine, type TextEngine } from './adapters/chat-adapter.ts';
export { completionAdapterOf } from './adapters/completion-adapter.ts';
export { mockResponseTo, type MockResponse } from './adapters/chat-mock.ts';
export type { BodyReader, ParsedBody } from './wire/read-body.ts';
export {
  chatChoices,
  requestedMaxTokens,
  createChatReader,
  hasImages,
  chatPrefix,
  maxChatPromptTokens,
  type ChatRequest,
} from './wire/chat.ts';
export {
  completionChoices,
  completionPrefix,
  maxCompletionPromptTokens,
  readCompletion,
  type CompletionRequest,
} from './wire/completion.ts';
export { createGateway, type Gateway, type GatewayOptions } from './gateway/gateway.ts';
