import type { Clock } from './clock.ts';
import { AbortedError, ConnectionError, MillraceError, TimeoutError, toApiError } from './errors.ts';
import type { OperationEntry } from './operation-entry.ts';
import type { RequestOptions } from './options.ts';
import { parseErrorResponse, requestIdOf } from './error-response.ts';
import { encodeRequest } from './request.ts';
import type { CallInput } from './request.ts';
import { mayRetry, retryDelayMs } from './retry.ts';

/** The settings that all calls of a client share. */
export interface Transport {
  readonly baseUrl: string;
  readonly inferenceUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `same-origin` lets a browser send the session cookie to its own cloud. */
  readonly credentials: 'omit' | 'same-origin';
  readonly timeoutMs: number | null;
  readonly maxRetries: number;
  /** How many connections of a feed may fail in a row. */
  readonly feedRetries: number;
  readonly fetch: typeof globalThis.fetch;
  readonly clock: Clock;
  readonly random: () => number;
  readonly newIdempotencyKey: () => string;
}

export interface Call {
  readonly entry: OperationEntry;
  readonly input: CallInput;
  readonly options: RequestOptions;
  /** Requests a stream; the id is sent as `Last-Event-ID`. */
  readonly stream?: { readonly lastEventId: string | null };
}

export interface ResponseOutcome<T> {
  readonly data: T;
  readonly response: Response;
  readonly requestId: string | null;
}

/** Reads a response. It runs inside the attempt, so that a truncated response is retried. */
export type ResponseReader<T> = (response: Response) => Promise<T>;

const defaultTimeoutMs = 60_000;
const defaultInferenceTimeoutMs = 600_000;

/** The timeout of one attempt. */
export function timeoutOf(transport: Transport, { options, entry }: Call): number {
  const defaultMs = entry.gateway === true ? defaultInferenceTimeoutMs : defaultTimeoutMs;
  return options.timeoutMs ?? transport.timeoutMs ?? defaultMs;
}

/** Sends a call until it succeeds, fails permanently, or reaches its retry limit. */
export async function send<T>(
  transport: Transport,
  call: Call,
  read: ResponseReader<T>,
): Promise<ResponseOutcome<T>> {
  const { clock, random } = transport;
  const { signal } = call.options;
  const maxRetries = call.options.maxRetries ?? transport.maxRetries;
  const request = prepare(transport, call);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attemptOnce(transport, call, request, read);
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
      // With this comparison, NaN does not retry endlessly.
      if (!(attempt <= maxRetries) || !mayRetry(error, call.entry.retry)) throw error;
      const delayMs = retryDelayMs(error, { attempt, random, nowMs: clock.nowMs() });
      if (delayMs === null) throw error;
      await sleepUnlessAborted(clock, delayMs, signal);
    }
  }
}

/** Waits, and throws an AbortedError if the caller aborts. */
export async function sleepUnlessAborted(
  clock: Clock,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await clock.sleep(ms, signal);
  } catch (cause) {
    throw new AbortedError('The call was aborted while it waited for a retry.', { cause });
  }
}

interface PreparedRequest {
  readonly url: string;
  readonly init: {
    readonly method: string;
    readonly headers: Record<string, string>;
    readonly body?: string;
  };
}

/** Everything that is the same in all attempts, in particular the Idempotency-Key. */
function prepare(transport: Transport, { entry, input, options, stream }: Call): PreparedRequest {
  const { path, body } = encodeRequest(entry, input);
  const headers: Record<string, string> = { ...transport.headers };
  headers['accept'] = acceptOf(entry, stream !== undefined);
  if (body !== null) headers['content-type'] = 'application/json';
  const key = options.idempotencyKey ?? (entry.retry === 'key' ? transport.newIdempotencyKey() : undefined);
  if (key !== undefined) headers['idempotency-key'] = key;
  const lastEventId = stream?.lastEventId ?? null;
  if (lastEventId !== null) headers['last-event-id'] = lastEventId;
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = value;
  const root = entry.gateway === true ? transport.inferenceUrl : transport.baseUrl;
  return {
    url: `${root}${path}`,
    init: { method: entry.method, headers, ...(body === null ? {} : { body }) },
  };
}

function acceptOf(entry: OperationEntry, asStream: boolean): string {
  if (asStream) return 'text/event-stream';
  return entry.responseKind === 'bytes' || entry.responseKind === 'text' ? '*/*' : 'application/json';
}

async function attemptOnce<T>(
  transport: Transport,
  call: Call,
  { url, init }: PreparedRequest,
  read: ResponseReader<T>,
): Promise<ResponseOutcome<T>> {
  const { clock } = transport;
  const { signal } = call.options;
  const timeoutMs = timeoutOf(transport, call);
  const late = new AbortController();
  const cancel = clock.after(timeoutMs, () => late.abort());
  try {
    signal?.throwIfAborted();
    const response = await transport.fetch(url, {
      ...init,
      // A redirect could send the key to another host.
      redirect: 'error',
      credentials: transport.credentials,
      signal: signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]),
    });
    if (!response.ok) {
      const { status, headers } = response;
      const text = await response.text();
      throw toApiError(parseErrorResponse({ status, headers, text, baseUrl: transport.baseUrl }));
    }
    return { data: await read(response), response, requestId: requestIdOf(response.headers) };
  } catch (error) {
    throw toMillraceError(error, { url, timeoutMs, late: late.signal, signal });
  } finally {
    cancel();
  }
}

function toMillraceError(
  error: unknown,
  about: {
    readonly url: string;
    readonly timeoutMs: number;
    readonly late: AbortSignal;
    readonly signal: AbortSignal | undefined;
  },
): MillraceError {
  if (error instanceof MillraceError) return error;
  const { host } = new URL(about.url);
  if (about.signal?.aborted === true) return new AbortedError('The call was aborted.', { cause: error });
  if (about.late.aborted) {
    const message = `${host} did not respond within ${about.timeoutMs} ms.`;
    return new TimeoutError(message, { cause: error });
  }
  const why = error instanceof Error ? rootMessage(error) : String(error);
  return new ConnectionError(`${host} sent no complete response: ${why}`, { cause: error });
}

/** `fetch failed` is not informative; its cause is. */
function rootMessage(error: Error): string {
  let found = error;
  while (found.cause instanceof Error) found = found.cause;
  return found.message === '' ? found.name : found.message;
}
