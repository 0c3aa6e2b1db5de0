import { systemClock } from '@millrace/platform/clock';
import { uniqueId, type CallResponse } from '@millrace/testing';
import { openBrowser } from '../../../apps/api/src/browser.fixture.ts';

/** Clients of the one public address, which repeat no request. Each failure is a sentence. */

export interface Load {
  readonly counts: Readonly<Record<LoadKind | 'chats repeated because credit came late', number>>;
  /** The number of long streams that are not complete. */
  openStreams(): number;
  /** Resolves with the failures, once no request is in flight. */
  end(): Promise<readonly string[]>;
}

type LoadKind = 'reads' | 'writes' | 'session calls' | 'chats' | 'long streams';

export interface LoadOptions {
  readonly url: string;
  readonly key: string;
  readonly chatModel: string;
  /** Streams of this model take longer than the lame-duck period. */
  readonly slowModel: string;
}

const REQUEST_PAUSE_MS = 20;
const REQUEST_TIMEOUT_MS = 120_000;
/** Stop a loop then, because a cause that stays would be reported endlessly. */
const FAILURES_MAX = 5;
const password = 'correct horse battery';

export function startLoad(options: LoadOptions): Load {
  const counts = {
    ...{ reads: 0, writes: 0, 'session calls': 0, chats: 0, 'long streams': 0 },
    'chats repeated because credit came late': 0,
  };
  let openStreams = 0;
  const noteRepeat = (): void => void (counts['chats repeated because credit came late'] += 1);
  const failures: string[] = [];
  let isOver = false;
  const repeat = async (kind: LoadKind, work: () => Promise<void>): Promise<void> => {
    for (let failed = 0; !isOver && failed < FAILURES_MAX;) {
      try {
        await work();
        counts[kind] += 1;
      } catch (error) {
        failed += 1;
        failures.push(`one of the ${kind} failed: ${describe(error)}`);
      }
      await systemClock.sleep(REQUEST_PAUSE_MS);
    }
  };
  const readLong = async (): Promise<void> => {
    openStreams += 1;
    await chat(options, options.slowModel, noteRepeat).finally(() => (openStreams -= 1));
  };
  const several = (count: number, kind: LoadKind, work: () => Promise<void>): Promise<void>[] =>
    Array.from({ length: count }, () => repeat(kind, work));
  const clients = [
    ...several(2, 'reads', () => read(options)),
    ...several(1, 'writes', () => write(options)),
    ...several(1, 'session calls', createSessionUser(options.url)),
    ...several(2, 'chats', () => chat(options, options.chatModel, noteRepeat)),
    ...several(4, 'long streams', readLong),
  ];
  return {
    counts,
    openStreams: () => openStreams,
    end: async () => {
      isOver = true;
      await Promise.all(clients);
      return failures;
    },
  };
}

async function request(url: string, init: RequestInit): Promise<Response> {
  return fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
}

async function call(
  { url, key }: LoadOptions,
  method: string,
  path: string,
  extra: { readonly body?: object; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Record<string, unknown>> {
  const { body, headers } = extra;
  const response = await request(url + path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${text.slice(0, 300)}`);
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

async function read(options: LoadOptions): Promise<void> {
  await call(options, 'GET', '/v2/me');
  await call(options, 'GET', '/v2/customer/balance');
}

/** Creates an API key, repeats the request, and revokes the key. */
async function write(options: LoadOptions): Promise<void> {
  const name = `rolling ${uniqueId()}`;
  const create = () =>
    call(options, 'POST', '/v2/api-keys', {
      body: { name, scopes: ['rentals:read'] },
      headers: { 'idempotency-key': name },
    });
  const [first, again] = [await create(), await create()];
  if (first['id'] !== again['id']) throw new Error('A repeated request created a second key.');
  await call(options, 'DELETE', `/v2/api-keys/${String(first['id'])}`);
}

/** Repeats a chat only if a gateway had to wait too long for the organisation's credit, as on a busy machine. */
async function chat(options: LoadOptions, model: string, onRepeat: () => void): Promise<void> {
  while (!(await isChatAnswered(options, model))) {
    onRepeat();
    await systemClock.sleep(REQUEST_PAUSE_MS);
  }
}

async function isChatAnswered({ url, key }: LoadOptions, model: string): Promise<boolean> {
  const response = await request(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      stream: true,
      max_tokens: 200,
      messages: [{ role: 'user', content: 'Who are you?' }],
    }),
  });
  const text = await response.text();
  if (response.status === 503 && text.includes('"ledger_unavailable"')) return false;
  if (response.status !== 200 || !text.includes('data: [DONE]'))
    throw new Error(`A chat returned ${response.status}: ${text.slice(-300)}`);
  return true;
}

/** A user in a browser, whose session must be accepted by each api at any time. */
function createSessionUser(url: string): () => Promise<void> {
  const email = `rolling-${uniqueId()}@example.com`;
  const browserCall = async (sent: {
    readonly method: string;
    readonly path: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: unknown;
  }): Promise<CallResponse> => {
    const { method, path, headers, body } = sent;
    const response = await request(url + path, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.status !== 200)
      throw new Error(`${path} returned ${response.status}: ${text.slice(0, 300)}`);
    const json: unknown = text.startsWith('{') ? JSON.parse(text) : {};
    return {
      status: response.status,
      headers: { 'set-cookie': response.headers.getSetCookie() },
      text,
      json,
    };
  };
  let isSignedUp = false;
  return async () => {
    const browser = openBrowser({ call: browserCall }, undefined, url);
    if (!isSignedUp) await browser.post('/auth/sign-up/email', { name: 'Ada', email, password });
    isSignedUp = true;
    await browser.post('/auth/sign-in/email', { email, password });
    for (let turn = 0; turn < 10; turn += 1) {
      const { text } = await browser.get('/auth/get-session');
      if (text === 'null') throw new Error('The session was not accepted.');
      await browser.get('/v2/me/sessions');
      await systemClock.sleep(REQUEST_PAUSE_MS);
    }
  };
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${describe(error.cause)}`;
}
