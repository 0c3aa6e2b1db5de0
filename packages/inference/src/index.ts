export type { ChatAdapter, ChatStream, Counts, EngineFailure } from './adapters/adapter.ts';
export {
  createRouter,
  type DeploymentView,
  type NoRoute,
  type Route,
  type Router,
  type RouterOptions,
  type RouteWish,
  type Visit,
} from './routing/index.ts';
export { createEngineSlots, type EngineSlots } from './gateway/engine-slots.ts';
export { createUsageReporter, type UsageReporter, type UsageReporterOptions } from './usage/index.ts';
export {
  mayUseModel,
  openBook,
  priceOf,
  toWireModelList,
  toWireModelPrice,
  type Book,
  type BookOptions,
} from './book/index.ts';
export {
  EngineFailed,
  type MediaAdapter,
  type MediaFacts,
  type MediaRequest,
  type MediaResponse,
  type UpstreamCall,
} from './adapters/media.ts';
export { createMediaOperations, type MediaOperations } from './wire/media-operations.ts';
export {
  ableDeployments,
  defaultModel,
  mediaCost,
  type MediaAnswerFacts,
  type MediaOperation,
  type MediaUnits,
  type RenderedMedia,
} from './wire/media.ts';
export { chatAdapterOf, isChatEngine, type ChatEngine } from './adapters/chat-adapter.ts';
export { completionAdapterOf } from './adapters/completion-adapter.ts';
export { answerAsMock, type MockAnswer } from './adapters/chat-mock.ts';
export type { BodyReader, ReadBody } from './wire/read-body.ts';
export {
  chatChoices,
  chatTokensAsked,
  createChatReader,
  hasImages,
  prefixOf,
  promptBound,
  type ChatRequest,
} from './wire/chat.ts';
export {
  completionChoices,
  completionPrefix,
  completionPromptBound,
  readCompletion,
  type CompletionRequest,
} from './wire/completion.ts';
export { createGateway, type Gateway, type GatewayOptions } from './gateway/gateway.ts';
