import type { DeploymentEntry } from '@millrace/core/inference';

/** Interface to text engines. An adapter handles the engine's names and quirks, not money or routing. */

/** Tokens counted so far. The counts only grow within a request. */
export interface TokenCounts {
  /** Includes cached tokens. */
  readonly prompt: number;
  readonly cached: number;
  readonly completion: number;
}

/** Values that the gateway adds to the client's request. */
export interface UpstreamContext {
  readonly deployment: DeploymentEntry;
  /** Maximum tokens per choice, already limited by context, model and reservation. */
  readonly maxTokens: number;
  /** Maximum tokens of prompt and completion. Only the mock needs it; real engines know it. */
  readonly contextLength?: number | null;
  /** Separates the engine's prefix cache by organisation. */
  readonly cacheSalt: string;
  /** For engines that separate their cache by slots. Null: no cached prompt may be reused. */
  readonly slot?: { readonly id: number; readonly reuse: boolean } | null;
}

export interface UpstreamRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The engine closes the connection after this response, so it must not be reused. */
  readonly closesConnection: boolean;
}

/** Fields of the response that the gateway sets. */
export interface CompletionContext {
  readonly requestId: string;
  readonly model: string;
  readonly createdSeconds: number;
  /** The price of the counted tokens in whole nano-USD, for `usage.cost_nano_usd`. */
  readonly costOf: (counts: TokenCounts) => number;
  /** Lower bound of the prompt's tokens, for engines that report none. */
  readonly leastPrompt: () => number;
}

export interface FullCompletion {
  readonly body: string;
  readonly counts: TokenCounts;
  readonly finishReason: string | null;
}

/** An engine failure in our words. `retryable`: another deployment might succeed. */
export interface EngineFailure {
  readonly status: number | null;
  readonly reason:
    | 'UPSTREAM_ERROR'
    | 'UPSTREAM_TIMEOUT'
    | 'MODEL_OVERLOADED'
    | 'CONTEXT_LENGTH_EXCEEDED'
    | 'PARAMETER_NOT_SUPPORTED'
    | 'VALIDATION_FAILED';
  readonly message: string;
  readonly retryable: boolean;
}

/** One stream of events from an engine to a client, fed in order by one caller. */
export interface TextStream {
  /** Returns the bytes for the client, or an empty string. Throws `TextEngineError` on an invalid event. */
  push(chunk: Buffer): string | Buffer;
  /** The engine ended its stream: returns the rest with `[DONE]`. Throws if the completion is unfinished. */
  end(): string;
  /** The engine's counts so far, or a lower bound if it reports none. */
  counts(): TokenCounts;
  finishReason(): string | null;
  /** Output has been returned to the client. */
  hasStarted(): boolean;
  /** The engine sent its end marker, also if the connection is still open. */
  isDone(): boolean;
}

/** The engine's response is invalid or contains an error. */
export class TextEngineError extends Error {
  readonly failure: EngineFailure;
  constructor(failure: EngineFailure) {
    super(failure.message);
    this.name = 'BrokenStream';
    this.failure = failure;
  }
}

/**
 * How the engine's prompt cache is separated by organisation: by a `salt` in the request, by the slot that a request names, or
 * not (`shared`, whose cached tokens must not be shown to clients).
 */
export type PromptCache = 'salted' | 'slots' | 'shared';

/** `Request` is the validated body of the operation. */
export interface TextAdapter<Request> {
  readonly cache: PromptCache;
  /** Whether the engine reports running counts. Otherwise a client that leaves pays a documented lower bound. */
  readonly countsWhileRunning: boolean;
  /** Throws `TextEngineError` if the engine would ignore a requested field. */
  toUpstream(request: Request, facts: UpstreamContext): UpstreamRequest;
  /** Throws `TextEngineError` on an invalid response. */
  readCompletion(text: string, request: Request, facts: CompletionContext): FullCompletion;
  openStream(request: Request, facts: CompletionContext): TextStream;
  readFailure(status: number, text: string): EngineFailure;
}
