import type { ChatRequest } from '../../wire/chat-request.ts';
import type { CompletionRequest } from '../../wire/completion-request.ts';
import type { TokenCounts, PromptCache, UpstreamContext } from './text-adapter.ts';
import type { JsonObject } from './engine-json.ts';

/** Differences between engines within the shared protocol. */
export interface TextDialect {
  readonly cache: PromptCache;
  readonly countsWhileRunning: boolean;
  /** Whether the last `usage` counts the whole request, or each choice reports its own. */
  readonly usageCounts: 'request' | 'choice';
  chatBody(request: ChatRequest, facts: UpstreamContext): JsonObject;
  completionBody(request: CompletionRequest, facts: UpstreamContext): JsonObject;
  /** The counts that an event of a running stream reports for its choice; null if none. */
  runningCounts(event: JsonObject): TokenCounts | null;
}
