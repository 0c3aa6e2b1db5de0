import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import Stripe from 'stripe';
import { KEEP_ALIVE_MS } from './keep-alive.ts';
import { uniqueId } from '../names.ts';

/**
 * A double of the Stripe calls that the product makes, over HTTP on loopback, with Stripe's rules for idempotency keys
 * and signed events. It avoids the network, and produces on demand failures that Stripe has rarely: losing the request
 * or the response, refusing, losing a report.
 */
export interface StripeDouble {
  readonly settings: { readonly secretKey: string; readonly webhookSecret: string; readonly apiUrl: string };
  /** All created sessions, in order. */
  sessions(): readonly DoubleSession[];
  /** The session of a payment. */
  sessionOf(paymentId: string): DoubleSession;
  /** Changes a session at Stripe. No event is sent. */
  change(sessionId: string, changes: Partial<DoubleSession>): DoubleSession;
  /** Marks a session as paid. */
  pay(sessionId: string): DoubleSession;
  /** Injects these failures into the next calls, one each. */
  failNext(...failures: readonly StripeFailure[]): void;
  /** The number of received calls, including failed ones. */
  calls(): number;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** `lost`: executed, but the response is lost. `dropped`: not executed. */
export type StripeFailure = 'lost' | 'dropped' | 'unavailable' | 'refused' | 'in use';

export interface DoubleSession {
  readonly id: string;
  readonly object: 'checkout.session';
  readonly status: 'open' | 'complete' | 'expired';
  readonly payment_status: 'paid' | 'unpaid' | 'no_payment_required';
  readonly payment_intent: string | null;
  readonly amount_total: number;
  readonly currency: string;
  readonly livemode: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  readonly success_url: string;
  readonly cancel_url: string;
  readonly url: string | null;
}

interface State {
  readonly secretKey: string;
  readonly sessions: Map<string, DoubleSession>;
  readonly answers: Map<string, { readonly parameters: string; readonly sessionId: string }>;
  readonly failures: StripeFailure[];
  calls: number;
}

export async function startStripeDouble(options: { readonly live?: boolean } = {}): Promise<StripeDouble> {
  const mode = (options.live ?? true) ? 'live' : 'test';
  const state: State = {
    secretKey: `sk_${mode}_double${uniqueId()}`,
    sessions: new Map(),
    answers: new Map(),
    failures: [],
    calls: 0,
  };
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MS },
    (request, response) => void respond(state, request, response),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The double has no port.');

  const change = (id: string, changes: Partial<DoubleSession>): DoubleSession => {
    const changed = { ...requireSession(state, id), ...changes };
    state.sessions.set(id, changed);
    return changed;
  };
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    settings: {
      secretKey: state.secretKey,
      webhookSecret: `whsec_double${uniqueId()}`,
      apiUrl: `http://127.0.0.1:${address.port}`,
    },
    sessions: () => [...state.sessions.values()],
    sessionOf: (paymentId) => {
      const found = [...state.sessions.values()].find(
        ({ metadata }) => metadata['millrace_payment_id'] === paymentId,
      );
      if (found === undefined) throw new Error(`The double has no session of ${paymentId}.`);
      return found;
    },
    change,
    pay: (id) =>
      change(id, {
        status: 'complete',
        payment_status: 'paid',
        payment_intent: `pi_double${uniqueId()}`,
        url: null,
      }),
    failNext: (...failures) => void state.failures.push(...failures),
    calls: () => state.calls,
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function respond(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  state.calls += 1;
  const body = await textOf(request);
  const failure = state.failures.shift();
  if (failure === 'dropped') {
    request.socket.destroy();
    return;
  }
  if (failure === 'unavailable') {
    send(response, 503, errorBody('api_error', 'The double is set to be unavailable.'));
    return;
  }
  if (failure === 'in use') {
    // Stripe's response while a request with the same key is in progress.
    send(response, 409, errorBody('idempotency_error', 'The key is in use.'));
    return;
  }
  if (failure === 'refused') {
    send(response, 400, errorBody('invalid_request_error', 'The double is set to refuse.'));
    return;
  }
  const [status, result] = handleCall(state, request, body);
  if (failure === 'lost') request.socket.destroy();
  else send(response, status, result);
}

function handleCall(state: State, request: IncomingMessage, body: string): readonly [number, unknown] {
  if (request.headers.authorization !== `Bearer ${state.secretKey}`) {
    return [401, errorBody('invalid_request_error', 'Invalid API key.')];
  }
  const { pathname } = new URL(request.url ?? '/', 'http://double');
  const [, sessionId] = /^\/v1\/checkout\/sessions\/(\w+)$/.exec(pathname) ?? [];
  if (request.method === 'GET' && sessionId !== undefined) {
    const session = state.sessions.get(sessionId);
    if (session === undefined) return [404, errorBody('invalid_request_error', 'No such session.')];
    return [200, withIntent(session)];
  }
  if (request.method === 'GET' && pathname === '/v1/checkout/sessions') {
    const data = [...state.sessions.values()].filter(({ status }) => status === 'complete');
    return [200, { object: 'list', url: pathname, has_more: false, data }];
  }
  if (request.method === 'POST' && pathname === '/v1/checkout/sessions') {
    return createSession(state, request, body);
  }
  return [404, errorBody('invalid_request_error', `The double does not know ${request.method} ${pathname}.`)];
}

/** The first request with a key decides. A repeated one gets the same response; a different one is refused. */
function createSession(state: State, request: IncomingMessage, body: string): readonly [number, unknown] {
  const key = String(request.headers['idempotency-key'] ?? uniqueId());
  const parameters = createHash('sha256').update(body).digest('hex');
  const known = state.answers.get(key);
  if (known !== undefined) {
    if (known.parameters === parameters) return [200, requireSession(state, known.sessionId)];
    return [400, errorBody('idempotency_error', 'The key was used with other parameters.')];
  }
  const form = new URLSearchParams(body);
  const session = newSession(state, form);
  state.sessions.set(session.id, session);
  state.answers.set(key, { parameters, sessionId: session.id });
  return [200, session];
}

function newSession(state: State, form: URLSearchParams): DoubleSession {
  const id = `cs_double${uniqueId()}`;
  const field = (name: string): string => form.get(name) ?? '';
  const metadata: Record<string, string> = {};
  for (const [name, value] of form) {
    const [, key] = /^metadata\[(\w+)\]$/.exec(name) ?? [];
    if (key !== undefined) metadata[key] = value;
  }
  return {
    id,
    object: 'checkout.session',
    status: 'open',
    payment_status: 'unpaid',
    payment_intent: null,
    amount_total:
      Number(field('line_items[0][price_data][unit_amount]')) * Number(field('line_items[0][quantity]')),
    currency: field('line_items[0][price_data][currency]'),
    livemode: state.secretKey.startsWith('sk_live_'),
    metadata,
    success_url: field('success_url'),
    cancel_url: field('cancel_url'),
    url: `https://checkout.example.com/pay/${id}`,
  };
}

/** Expands the intent. A session that is complete but unpaid is still being processed by the bank. */
function withIntent(session: DoubleSession): unknown {
  const { payment_intent: id, payment_status } = session;
  if (id === null) return session;
  const status = payment_status === 'paid' ? 'succeeded' : 'processing';
  return { ...session, payment_intent: { id, object: 'payment_intent', status } };
}

function requireSession(state: State, id: string): DoubleSession {
  const session = state.sessions.get(id);
  if (session === undefined) throw new Error(`The double has no session ${id}.`);
  return session;
}

function errorBody(type: string, message: string): unknown {
  return { error: { type, message } };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  // Without this header the library would wait and retry.
  response.writeHead(status, { 'content-type': 'application/json', 'stripe-should-retry': 'false' });
  response.end(JSON.stringify(body));
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

export interface SignedEvent {
  readonly body: string;
  readonly headers: { readonly 'content-type': string; readonly 'stripe-signature': string };
}

/** An event signed by the Stripe library's test helper. */
export function signStripeEvent(
  webhookSecret: string,
  event: {
    readonly type: string;
    readonly object: unknown;
    readonly id?: string;
    readonly createdMs: number;
    readonly livemode?: boolean;
    /** The time of the signature; the creation time by default. */
    readonly signedMs?: number;
  },
): SignedEvent {
  const body = JSON.stringify({
    id: event.id ?? `evt_double${uniqueId()}`,
    object: 'event',
    type: event.type,
    created: Math.floor(event.createdMs / 1_000),
    livemode: event.livemode ?? true,
    data: { object: event.object },
  });
  const timestamp = Math.floor((event.signedMs ?? event.createdMs) / 1_000);
  const signed = { payload: body, secret: webhookSecret, timestamp };
  const signature = Stripe.webhooks.generateTestHeaderString(signed);
  const headers = { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signature };
  return { body, headers };
}
