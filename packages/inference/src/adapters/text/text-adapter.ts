import type { DeploymentEntry } from '@millrace/core/inference';

/** What every engine is spoken to through. An adapter knows its engine's names and quirks and nothing of money or routing. */

/** What was counted so far. Only ever grows within one request. */
export interface TokenCounts {
  /** All of the prompt, cached tokens included. */
  readonly prompt: number;
  readonly cached: number;
  readonly completion: number;
}

/** What the adapter may put into the request besides what the client asked for. */
export interface UpstreamContext {
  readonly deployment: DeploymentEntry;
  /** What the gateway allows, already within context, model and money: for each choice. */
  readonly maxTokens: number;
  /** What prompt and answer may come to together. Real engines know it themselves; the mock is told. */
  readonly contextLength?: number | null;
  /** Keeps the engine's prefix cache of one organisation apart from another's. */
  readonly cacheSalt: string;
  /** For an engine whose cache is kept apart by slots. Null: nothing of its cache may be reused. */
  readonly slot?: { readonly id: number; readonly reuse: boolean } | null;
}

export interface UpstreamRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The engine closes the connection after this response, so no other request may be sent on it. */
  readonly closesConnection: boolean;
}

/** What the answer must say in our name. */
export interface CompletionContext {
  readonly requestId: string;
  /** As the client wrote it. */
  readonly model: string;
  readonly createdSeconds: number;
  /** The price of what was counted, in whole nano-USD; for `usage.cost_nano_usd`. */
  readonly costOf: (counts: TokenCounts) => number;
  /** A lower bound of the prompt's tokens, for an engine that does not count them. */
  readonly leastPrompt: () => number;
}

export interface FullCompletion {
  /** As it goes to the client. */
  readonly body: string;
  readonly counts: TokenCounts;
  readonly finishReason: string | null;
}

/** A failure of the engine, told in our words. `retryable`: another deployment may do better. */
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

/** One stream of events from an engine to a client. Bytes in, bytes out; fed in order, by one caller. */
export interface TextStream {
  /** Answers what goes to the client now; empty when nothing does. Throws `TextEngineError` on what is no answer. */
  push(chunk: Buffer): string | Buffer;
  /** The engine has ended its stream: what is left for the client, `[DONE]` included; throws if it ended too early. */
  end(): string;
  /** What was counted so far by the engine's own word, or a lower bound where it has none. */
  counts(): TokenCounts;
  finishReason(): string | null;
  /** Something that a client can use has gone out. */
  hasStarted(): boolean;
  /** The engine has said that this was all, whether or not it ends its connection. */
  isDone(): boolean;
}

/** The engine's stream is not what it should be, or carried an error. */
export class TextEngineError extends Error {
  readonly failure: EngineFailure;
  constructor(failure: EngineFailure) {
    super(failure.message);
    this.name = 'BrokenStream';
    this.failure = failure;
  }
}

/**
 * How an engine's prompt cache is kept apart by organisation. `salted`: by a salt in the request. `slots`: by the slot that a
 * request names. `shared`: not at all, so its count of cached tokens is shown to no client.
 */
export type PromptCache = 'salted' | 'slots' | 'shared';

/** `Request` is the validated body of the operation. */
export interface TextAdapter<Request> {
  readonly cache: PromptCache;
  /** Whether the engine says while it runs how much it has done. Without, a client that leaves pays a stated lower bound. */
  readonly countsWhileRunning: boolean;
  /** Throws `TextEngineError` when the engine would ignore what was asked of it. */
  toUpstream(request: Request, facts: UpstreamContext): UpstreamRequest;
  /** Throws `TextEngineError` on what is no answer. */
  readCompletion(text: string, request: Request, facts: CompletionContext): FullCompletion;
  openStream(request: Request, facts: CompletionContext): TextStream;
  /** Reads an answer that is no success. */
  readFailure(status: number, text: string): EngineFailure;
}
