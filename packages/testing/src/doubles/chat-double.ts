import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { KEEP_ALIVE_MS } from './keep-alive.ts';
import { openaiStyle } from './openai-style.ts';
import { sglangStyle } from './sglang-style.ts';
import { vllmStyle } from './vllm-style.ts';

/**
 * Doubles of vLLM, SGLang and a plain OpenAI server: their formats and quirks over HTTP on loopback, without a model.
 * They return the same tokens to every request, record requests, refuse what the real engines refuse, and fail on
 * demand.
 */
export interface ChatDouble {
  readonly address: string;
  /** The received bodies in order, each with its key. */
  readonly received: readonly ReceivedRequest[];
  /** Injects these failures into the next requests, one each. */
  failNext(...failures: readonly ChatFailure[]): void;
  /** Injects this failure into every request; null ends this. */
  failAll(failure: ChatFailure | null): void;
  /** The number of streams that the client aborted. */
  left(): number;
  /** Sets the load that `/metrics` reports. */
  setLoad(load: { readonly running: number; readonly waiting: number }): void;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ReceivedRequest {
  readonly path: string;
  readonly authorization: string | null;
  readonly traceparent: string | null;
  readonly body: DoubleBody;
}

export type DoubleBody = Readonly<Record<string, unknown>>;

/** `overloaded`: 429; `broken`: 500; `silent`: no response; the last two abort or corrupt a stream after two tokens. */
export type ChatFailure = 'overloaded' | 'broken' | 'silent' | 'cut' | 'error event';

export interface ChatDoubleOptions {
  readonly engine: 'vllm' | 'sglang' | 'openai';
  /** The tokens of each choice. */
  readonly tokens?: readonly string[];
  readonly promptTokens?: number;
  readonly cachedTokens?: number;
  readonly contextLength?: number;
  /** The pause between two events of a stream. */
  readonly pauseMs?: number;
  readonly apiKey?: string;
}

/** The wire format of one engine. */
export interface EngineStyle {
  /** The engine's refusal, or null if it accepts the request. */
  refuse(body: DoubleBody, settings: ChatSettings): { readonly status: number; readonly body: object } | null;
  /** The events of a stream in order, without `[DONE]`. */
  events(body: DoubleBody, settings: ChatSettings, isChat: boolean): readonly object[];
  whole(body: DoubleBody, settings: ChatSettings, isChat: boolean): object;
  failure(status: number, message: string): object;
  metrics(load: { readonly running: number; readonly waiting: number }): string;
}

export interface ChatSettings {
  readonly tokens: readonly string[];
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly contextLength: number;
}

const styles: Readonly<Record<ChatDoubleOptions['engine'], EngineStyle>> = {
  vllm: vllmStyle,
  sglang: sglangStyle,
  openai: openaiStyle,
};

export async function startChatDouble(options: ChatDoubleOptions): Promise<ChatDouble> {
  const state: State = {
    style: styles[options.engine],
    settings: {
      tokens: options.tokens ?? ['Bread', ' is', ' made', ' of', ' flour', '.'],
      promptTokens: options.promptTokens ?? 11,
      cachedTokens: options.cachedTokens ?? 0,
      contextLength: options.contextLength ?? 4_096,
    },
    pauseMs: options.pauseMs ?? 0,
    apiKey: options.apiKey ?? null,
    received: [],
    failures: [],
    failure: null,
    load: { running: 0, waiting: 0 },
    left: 0,
  };
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    respond(state, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The double has no port.');
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    address: `http://127.0.0.1:${address.port}`,
    received: state.received,
    failNext: (...failures) => void state.failures.push(...failures),
    failAll(failure) {
      state.failure = failure;
    },
    left: () => state.left,
    setLoad(load) {
      state.load = load;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface State {
  readonly style: EngineStyle;
  readonly settings: ChatSettings;
  readonly pauseMs: number;
  readonly apiKey: string | null;
  readonly received: ReceivedRequest[];
  readonly failures: ChatFailure[];
  failure: ChatFailure | null;
  load: { readonly running: number; readonly waiting: number };
  left: number;
}

async function respond(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url ?? '/';
  if (path === '/health') return void response.writeHead(200).end();
  if (path === '/metrics') return void response.writeHead(200).end(state.style.metrics(state.load));
  const authorization = request.headers.authorization ?? null;
  if (state.apiKey !== null && authorization !== `Bearer ${state.apiKey}`) {
    return sendJson(response, 401, state.style.failure(401, 'Unauthorized'));
  }
  const body = await readBody(request);
  const traceparent = String(request.headers['traceparent'] ?? '') || null;
  state.received.push({ path, authorization, traceparent, body });
  const failure = state.failures.shift() ?? state.failure;
  if (failure === 'silent') return;
  if (failure === 'overloaded') return sendJson(response, 429, state.style.failure(429, 'Too many requests'));
  if (failure === 'broken') return sendJson(response, 500, state.style.failure(500, 'Internal server error'));
  const refused = state.style.refuse(body, state.settings);
  if (refused !== null) return sendJson(response, refused.status, refused.body);
  const isChat = path === '/v1/chat/completions';
  if (body['stream'] === true) return sendStream(state, response, body, isChat, failure);
  sendJson(response, 200, state.style.whole(body, state.settings, isChat));
}

async function readBody(request: IncomingMessage): Promise<DoubleBody> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as DoubleBody;
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const eventsBeforeFailure = 3;

async function sendStream(
  state: State,
  response: ServerResponse,
  body: DoubleBody,
  isChat: boolean,
  failure: ChatFailure | null,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  let isOver = false;
  response.on('close', () => {
    if (!isOver) state.left += 1;
  });
  const events = state.style.events(body, state.settings, isChat);
  for (const [at, event] of events.entries()) {
    if (response.destroyed) return;
    if (failure !== null && at === eventsBeforeFailure) {
      isOver = true;
      if (failure === 'cut') return void response.destroy();
      response.write(
        `data: ${JSON.stringify(state.style.failure(500, 'EngineCore encountered an issue'))}\n\n`,
      );
      break;
    }
    response.write(`data: ${JSON.stringify(event)}\n\n`);
    if (state.pauseMs > 0) await sleep(state.pauseMs);
  }
  isOver = true;
  response.end('data: [DONE]\n\n');
}
