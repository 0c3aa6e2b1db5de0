import { ApiPromise } from './api-promise.ts';
import { systemClock } from './clock.ts';
import { MillraceError } from './errors.ts';
import { streamMethods, namespaces } from './namespaces.ts';
import type { OperationEntry } from './operation-entry.ts';
import { operations } from './operations.generated.ts';
import type { CallableId } from './operations.generated.ts';
import type { ClientOptions, RequestOptions } from './options.ts';
import { Page, PagePromise, readList } from './page.ts';
import { readerOf } from './response-readers.ts';
import type { CallInput } from './request.ts';
import type { Resources } from './resources.generated.ts';
import { singleResponseStream, reconnectingStream, EventStream, StreamPromise } from './stream.ts';
import { send, timeoutOf } from './transport.ts';
import type { Call, ResponseOutcome, Transport } from './transport.ts';
import { version } from './version.generated.ts';
import { createWaiters } from './wait.ts';

/** The result of a call: a promise of a response, a list or a stream. */
export type AnyCall = ApiPromise<unknown> | PagePromise<unknown> | StreamPromise<unknown>;

/** Calls operations by id, for programs that choose them at run time. */
export interface Caller {
  /** Calls an operation by its id. A list returns a PagePromise, `stream: true` a StreamPromise. */
  call(id: CallableId, input?: CallInput, options?: RequestOptions): AnyCall;
  /** The stream of an operation that offers one. */
  stream(id: CallableId, input?: CallInput, options?: RequestOptions): StreamPromise<unknown>;
}

export interface Millrace extends Resources, Caller {
  readonly baseUrl: string;
  readonly inferenceUrl: string;
}

const defaultMaxRetries = 2;
/** A feed must survive a restart of the service, which takes longer than a call should wait. */
const defaultStreamRetries = 10;
const streamIdleMs = 60_000;

function createClient(options: ClientOptions): Millrace {
  const transport = transportOf(options);
  const caller: Caller = {
    call: (id, input = {}, requestOptions = {}) =>
      callOf(transport, { entry: operations[id], input, options: requestOptions }),
    stream: (id, input = {}, requestOptions = {}) =>
      streamOf(transport, { entry: operations[id], input, options: requestOptions }),
  };
  const { baseUrl, inferenceUrl } = transport;
  const resources = resourcesOf(caller) as Resources;
  const waiters = createWaiters(resources, transport);
  Object.assign(resources.rentals, waiters.rentals);
  Object.assign(resources.volumes, waiters.volumes);
  Object.assign(resources.marketplace.instances, waiters.instances);
  return { ...resources, ...caller, baseUrl, inferenceUrl };
}

/** `new Millrace({ baseUrl, apiKey })`. Its namespaces are built from the table in namespaces.ts. */
export const Millrace: new (options: ClientOptions) => Millrace = class MillraceClient {
  constructor(options: ClientOptions) {
    Object.assign(this, createClient(options));
  }
} as new (options: ClientOptions) => Millrace;

function transportOf(options: ClientOptions): Transport {
  const inBrowser = 'window' in globalThis && 'document' in globalThis;
  const { session, sessionToken } = options;
  if (options.apiKey !== undefined && (session !== undefined || sessionToken !== undefined)) {
    throw new MillraceError('Use either an apiKey or a session, not both.');
  }
  // Pages cannot read the session cookie, so it is not a secret in the page.
  const hasSecret = session === undefined || sessionToken !== undefined;
  if (inBrowser && hasSecret && options.allowBrowser !== true) {
    throw new MillraceError(
      'A key in a page is visible to everyone who opens the page. Call from a server, or set allowBrowser: true.',
    );
  }
  const baseUrl = urlOf('baseUrl', options.baseUrl);
  const { inferenceUrl, apiKey, userAgent, fetch = globalThis.fetch } = options;
  const agent = `millrace-sdk/${version}`;
  const headers: Record<string, string> = {};
  // Browsers do not let pages set the User-Agent.
  if (!inBrowser) headers['user-agent'] = userAgent === undefined ? agent : `${userAgent} ${agent}`;
  if (apiKey !== undefined) headers['authorization'] = `Bearer ${requireCredential('apiKey', apiKey)}`;
  if (sessionToken !== undefined) {
    headers['authorization'] = `Bearer ${requireCredential('sessionToken', sessionToken)}`;
  }
  if (session?.organisation !== undefined) headers['millrace-organisation'] = session.organisation;
  if (session?.mode !== undefined) headers['millrace-mode'] = session.mode;
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = value;
  return {
    baseUrl,
    inferenceUrl: inferenceUrl === undefined ? baseUrl : urlOf('inferenceUrl', inferenceUrl),
    headers,
    credentials: session === undefined || sessionToken !== undefined ? 'omit' : 'same-origin',
    timeoutMs: options.timeoutMs ?? null,
    maxRetries: options.maxRetries ?? defaultMaxRetries,
    feedRetries: options.maxRetries ?? defaultStreamRetries,
    // Browsers require fetch to be called as a method of window.
    fetch: (input, init) => fetch(input, init),
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    newIdempotencyKey: () => globalThis.crypto.randomUUID(),
  };
}

/** Checked here, because the error of fetch would contain the credential. */
function requireCredential(name: 'apiKey' | 'sessionToken', value: string): string {
  if (/^[\x21-\x7e]+$/.test(value)) return value;
  const wrong = value === '' ? 'is empty' : 'contains a character that is not allowed, such as a line break';
  throw new MillraceError(`The ${name} ${wrong}.`);
}

function urlOf(name: string, value: string | undefined): string {
  if (value === undefined || !URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol)) {
    throw new MillraceError(
      `${name} must be an address such as https://api.example.com, but it is ${value ?? 'missing'}.`,
    );
  }
  // Paths are appended to the address, and errors contain it.
  const { username, password } = new URL(value);
  if (username !== '' || password !== '' || /[?#]/.test(value)) {
    throw new MillraceError(
      `${name} must be an address such as https://api.example.com, without a password, query or fragment.`,
    );
  }
  return value.replace(/(?<!\/)\/+$/, '');
}

function callOf(transport: Transport, call: Call): AnyCall {
  const { entry, input } = call;
  if (entry.sse === 'body' && input['stream'] === true) return streamOf(transport, call);
  if (entry.list !== undefined) return listOf(transport, call, entry.list);
  return new ApiPromise({ read: () => send(transport, call, readerOf(entry)), raw: rawOf(transport, call) });
}

function rawOf(transport: Transport, call: Call): () => Promise<Response> {
  return async () => (await send(transport, call, (response) => Promise.resolve(response))).data;
}

function listOf(
  transport: Transport,
  call: Call,
  shape: NonNullable<OperationEntry['list']>,
): PagePromise<unknown> {
  const fetchPage = async (input: CallInput): Promise<ResponseOutcome<Page<unknown>>> => {
    const outcome = await send(transport, { ...call, input }, readerOf(call.entry));
    const { items, nextCursor } = readList(shape, outcome.data, outcome.response.headers);
    const page = new Page({
      items,
      response: outcome.data,
      nextCursor,
      fetchPage: async (cursor) =>
        (await fetchPage({ ...call.input, [shape.sends ?? 'cursor']: cursor })).data,
    });
    return { ...outcome, data: page };
  };
  return new PagePromise({ read: () => fetchPage(call.input), raw: rawOf(transport, call) });
}

function streamOf(transport: Transport, call: Call): StreamPromise<unknown> {
  const { entry, options } = call;
  const { clock, random, baseUrl } = transport;
  const leaving = new AbortController();
  const signal =
    options.signal === undefined ? leaving.signal : AbortSignal.any([options.signal, leaving.signal]);
  const open = (lastEventId: string | null, maxRetries: number | undefined) =>
    send(
      transport,
      { ...call, options: { ...options, signal, maxRetries }, stream: { lastEventId } },
      (response) => Promise.resolve(response),
    );
  const itemsOf = (response: Response): AsyncIterable<unknown> => {
    // A busy engine may pause between two tokens as long as a whole call may take; a feed has heartbeats.
    if (entry.sse === 'body') {
      const idleMs = timeoutOf(transport, call);
      return singleResponseStream(response, { clock, signal, baseUrl, idleMs });
    }
    return reconnectingStream(response, {
      ...{ clock, signal, random, idleMs: streamIdleMs },
      maxRetries: options.maxRetries ?? transport.feedRetries,
      open: async (lastEventId) => (await open(lastEventId, 0)).data,
    });
  };
  return new StreamPromise({
    read: async () => {
      const outcome = await open(null, options.maxRetries);
      return { ...outcome, data: new EventStream(itemsOf(outcome.data), leaving) };
    },
    raw: async () => (await open(null, options.maxRetries)).data,
  });
}

type Verbs = { readonly [word: string]: CallableId | Verbs };
type Methods = { [word: string]: unknown };

function resourcesOf(caller: Caller): unknown {
  const built = methodsOf(
    namespaces,
    (id) => (input?: CallInput, options?: RequestOptions) => caller.call(id, input, options),
  );
  for (const [noun, verbs] of Object.entries(streamMethods)) {
    Object.assign(
      built[noun] as Methods,
      methodsOf(
        verbs,
        (id) => (input?: CallInput, options?: RequestOptions) => caller.stream(id, input, options),
      ),
    );
  }
  return built;
}

function methodsOf(verbs: Verbs, methodOf: (id: CallableId) => unknown): Methods {
  return Object.fromEntries(
    Object.entries(verbs).map(([word, value]) => [
      word,
      typeof value === 'string' ? methodOf(value) : methodsOf(value, methodOf),
    ]),
  );
}
