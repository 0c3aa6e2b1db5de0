import { Fault } from '@millrace/platform/fault';
import { errors, type Dispatcher } from 'undici';
import {
  TextEngineError,
  type CompletionContext,
  type TextAdapter,
  type TextStream,
  type TokenCounts,
  type EngineFailure,
  type FullCompletion,
} from '../../adapters/text/text-adapter.ts';

/** One upstream call for text: relays the engine's response and reports its end once. No charging, no retries. */

export interface RelayListener {
  /** Returns false if the client cannot take more for now. */
  onBytes(bytes: string | Buffer): boolean;
  onWhole(response: FullCompletion): void;
  onStreamEnd(last: string, finishReason: string | null): void;
  /** `started`: the client already got part of the response. */
  onFailure(failure: EngineFailure, started: boolean): void;
}

export interface RelayOptions<Request> {
  readonly adapter: TextAdapter<Request>;
  readonly request: Request;
  readonly facts: CompletionContext;
  readonly isStream: boolean;
  readonly maxResponseBytes: number;
  readonly listener: RelayListener;
}

const zeroTokens: TokenCounts = { prompt: 0, cached: 0, completion: 0 };
const maxFailureBytes = 64 * 1024;

export class TextRelay<Request> implements Dispatcher.DispatchHandler {
  readonly #options: RelayOptions<Request>;
  #controller: Dispatcher.DispatchController | null = null;
  #status: number | null = null;
  #stream: TextStream | null = null;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #counts = zeroTokens;
  #isRequested = false;
  #isWhole = false;
  #isOver = false;
  #stopped: Error | null = null;

  constructor(options: RelayOptions<Request>) {
    this.#options = options;
  }

  get status(): number | null {
    return this.#status;
  }

  /** The engine's counts so far. */
  counts(): TokenCounts {
    return this.#stream?.counts() ?? this.#counts;
  }

  /** The engine's counts, or a lower bound once the engine has the request. An engine that refused did no work. */
  countsOnDisconnect(): TokenCounts {
    if (!this.#isRequested || (this.#status !== null && this.#status !== 200)) return zeroTokens;
    const counts = this.#stream === null ? this.#collectedCounts() : this.counts();
    if (counts.prompt > 0) return counts;
    return { prompt: this.#options.facts.leastPrompt(), cached: 0, completion: counts.completion };
  }

  /** The engine has generated everything and the rest is arriving. */
  isAnsweringWhole(): boolean {
    return this.#isWhole && !this.#isOver;
  }

  finishReason(): string | null {
    return this.#stream?.finishReason() ?? null;
  }

  /** Closes the connection, which stops the engine, and ignores further events. */
  stop(why: Error): void {
    this.#isOver = true;
    this.#stopped = why;
    this.#controller?.abort(why);
  }

  resume(): void {
    this.#controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#isRequested = true;
    if (this.#stopped !== null) controller.abort(this.#stopped);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.#status = status;
    const { isStream, adapter, request, facts } = this.#options;
    this.#isWhole = !isStream && status === 200 && !isEventStream(headers['content-type']);
    if (isStream && status === 200) this.#stream = adapter.openStream(request, facts);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    if (this.#stream === null) {
      this.#collect(chunk);
      return;
    }
    try {
      const out = this.#stream.push(chunk);
      const takesMore = out.length === 0 || this.#options.listener.onBytes(out);
      if (this.#stream.isDone()) this.#endStream('');
      else if (!takesMore) controller.pause();
    } catch (error) {
      this.#break(error);
    }
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    try {
      if (this.#stream === null) this.#readWhole();
      else this.#endStream(this.#stream.end());
    } catch (error) {
      this.#break(error);
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (!this.#isOver) this.#fail(connectionFailure(error, this.#status));
  }

  /** The engine might keep its connection open after the last event. */
  #endStream(last: string): void {
    this.#isOver = true;
    this.#options.listener.onStreamEnd(last, this.finishReason());
  }

  #collect(chunk: Buffer): void {
    const most = this.#status === 200 ? this.#options.maxResponseBytes : maxFailureBytes;
    this.#bytes += chunk.length;
    if (this.#bytes <= most) this.#chunks.push(chunk);
    else
      this.#break(
        this.#status === 200
          ? new TextEngineError(responseTooLargeFailure)
          : new Error('The error response of the engine is too large.'),
      );
  }

  /** Some engines stream although the client does not: the received part shows what was generated. */
  #collectedCounts(): TokenCounts {
    const { adapter, request, facts } = this.#options;
    if (this.#chunks.length === 0 || this.#isWhole) return this.#counts;
    try {
      const stream = adapter.openStream(request, facts);
      for (const part of this.#chunks) stream.push(part);
      return stream.counts();
    } catch {
      return this.#counts;
    }
  }

  #readWhole(): void {
    const { adapter, request, facts, listener } = this.#options;
    const [only] = this.#chunks;
    const all = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks);
    const text = all.toString('utf8');
    if (this.#status !== 200) {
      this.#fail(adapter.readFailure(this.#status ?? 0, text));
      return;
    }
    const response = adapter.readCompletion(text, request, facts);
    this.#counts = response.counts;
    this.#isOver = true;
    listener.onWhole(response);
  }

  /** The response is invalid, so the connection is closed. */
  #break(error: unknown): void {
    const failure =
      error instanceof TextEngineError
        ? error.failure
        : ({
            status: this.#status,
            reason: 'UPSTREAM_ERROR',
            message: error instanceof Error ? error.message : String(error),
            retryable: true,
          } as const);
    this.#fail(failure);
    this.#controller?.abort(new Error('the response could not be used'));
  }

  #fail(failure: EngineFailure): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.listener.onFailure(failure, this.#stream?.hasStarted() ?? false);
  }
}

function isEventStream(contentType: string | string[] | undefined): boolean {
  return String(contentType).startsWith('text/event-stream');
}

/** Caused by the request: another engine would return as much, and this one is healthy. */
export const responseTooLargeFailure: EngineFailure = {
  status: null,
  reason: 'VALIDATION_FAILED',
  message: 'The response is too large to return at once. Request less output, or stream it.',
  retryable: false,
};

function connectionFailure(error: Error, status: number | null): EngineFailure {
  const isLate =
    error instanceof errors.HeadersTimeoutError ||
    error instanceof errors.BodyTimeoutError ||
    error instanceof errors.ConnectTimeoutError;
  const reason = isLate ? 'UPSTREAM_TIMEOUT' : 'UPSTREAM_ERROR';
  return { status, reason, message: error.message, retryable: true };
}

/** Converts a failure for the client. Messages are passed on only if they are about the request. */
export function toFault(failure: EngineFailure): Fault {
  const isOfTheRequest =
    failure.reason === 'CONTEXT_LENGTH_EXCEEDED' ||
    failure.reason === 'PARAMETER_NOT_SUPPORTED' ||
    failure.reason === 'VALIDATION_FAILED';
  return new Fault(failure.reason, {
    internal: failure.message,
    ...(isOfTheRequest ? { message: failure.message } : {}),
  });
}
