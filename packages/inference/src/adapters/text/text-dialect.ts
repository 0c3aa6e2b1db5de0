import type { ChatRequest } from '../../wire/chat-request.ts';
import type { CompletionRequest } from '../../wire/completion-request.ts';
import type { TokenCounts, PromptCache, UpstreamContext } from './text-adapter.ts';
import type { JsonObject } from './engine-json.ts';

/** What differs from engine to engine in the protocol that they share. */
export interface TextDialect {
  readonly cache: PromptCache;
  /** Whether the engine says while it runs how much it has done. */
  readonly countsWhileRunning: boolean;
  /** Whether the last `usage` counts the whole request, or each choice sends one of its own. */
  readonly usageCounts: 'request' | 'choice';
  chatBody(request: ChatRequest, facts: UpstreamContext): JsonObject;
  completionBody(request: CompletionRequest, facts: UpstreamContext): JsonObject;
  /** What an event of a running stream tells of its own choice; null when it tells nothing. */
  runningCounts(event: JsonObject): TokenCounts | null;
}
