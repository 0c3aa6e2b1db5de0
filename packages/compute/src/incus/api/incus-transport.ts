import { Agent as HttpsAgent } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Clock } from '@millrace/platform/clock';
import { guardedLookup, assertAddressAllowed, type NetGuard } from '@millrace/platform/net';
import {
  explainTlsError,
  pinnedTlsOptions,
  toCredentialSource,
  type CredentialSource,
  type PinnedTls,
} from '@millrace/platform/tls';
import { Pool } from 'undici';
import { WebSocket, type ClientOptions } from 'ws';
import { invalidResponseError, noResponseError, type IncusError } from './incus-errors.ts';

/** A local daemon, or members of a cluster, each of which can respond for all. */
export type IncusConnectionOptions =
  | { readonly socketPath: string }
  | {
      readonly endpoints: readonly string[];
      /** All members of a cluster have the same server certificate. */
      readonly tls: PinnedTls | CredentialSource<PinnedTls>;
      /** For endpoints that a supplier entered: which addresses are allowed. */
      readonly guard?: NetGuard;
    };

export interface TransportRequest {
  /** Completes "asked to …" in error messages. */
  readonly what: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** Long polls use separate connections, so that they cannot use up those of other requests. */
  readonly isLongPoll?: boolean;
}

export interface TransportResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

const connectMs = 3_000;
/** Per endpoint; further requests wait. A connection serves one request at a time. */
const maxConnections = 64;

/** Failures before anything was sent, after which also a write may go to another endpoint. */
const notSentCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'EACCES',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

const repair = {
  server: 'Incus',
  trust:
    'Put its certificate into the serverCertificateFile of the credential, or into the settings of the cluster.',
};

/** The connections that use one version of the certificates. */
interface OpenConnections {
  /** Null for a local socket. */
  readonly tls: PinnedTls | null;
  readonly pools: readonly Pool[];
  /** Unlimited connections, because callers limit the operations in progress. */
  readonly longPollPools: readonly Pool[];
  readonly socketOptions: ClientOptions;
}

type ConnectOptions =
  | { readonly socketPath: string }
  | (ReturnType<typeof pinnedTlsOptions> & { readonly lookup?: LookupFunction });

function connectOptions(reach: IncusConnectionOptions, tls: PinnedTls | null): ConnectOptions {
  if ('socketPath' in reach) return { socketPath: reach.socketPath };
  if (tls === null) throw new TypeError('A daemon on the network needs certificates.');
  const guard = reach.guard === undefined ? {} : { lookup: guardedLookup(reach.guard) };
  return { ...guard, ...pinnedTlsOptions(tls) };
}

function openConnections(
  reach: IncusConnectionOptions,
  bases: readonly string[],
  tls: PinnedTls | null,
): OpenConnections {
  const connect = connectOptions(reach, tls);
  const open = (connections: number | null): Pool[] =>
    bases.map(
      (base) =>
        new Pool(base, {
          // No HTTP/2: undici and Node never return from sending if the server dies with requests in flight.
          allowH2: false,
          connections,
          connect: { ...connect, timeout: connectMs },
          // The timeout of the request's clock covers the whole exchange; undici's would cover only pauses.
          headersTimeout: 0,
          bodyTimeout: 0,
        }),
    );
  return {
    tls,
    pools: open(maxConnections),
    longPollPools: open(null),
    socketOptions: {
      ...('socketPath' in connect ? {} : { agent: new HttpsAgent({ ...connect, keepAlive: false }) }),
      handshakeTimeout: connectMs,
      followRedirects: false,
    },
  };
}

/**
 * Sends requests to the first endpoint that responds, each endpoint at most once, with time and size limits. A read without a
 * response goes to the next endpoint; a write only if it was not sent, because its outcome is unknown otherwise.
 */
export class IncusTransport {
  readonly #bases: readonly string[];
  readonly #socketBases: readonly string[];
  readonly #reach: IncusConnectionOptions;
  /** Null for a local socket. */
  readonly #tls: CredentialSource<PinnedTls> | null;
  readonly #clock: Clock;
  readonly #guard: NetGuard | null;
  readonly #closing = new AbortController();
  /** The endpoint that responded last is tried first. */
  #preferred = 0;
  #open: OpenConnections | null = null;

  constructor(reach: IncusConnectionOptions, clock: Clock) {
    this.#reach = reach;
    this.#tls = 'socketPath' in reach ? null : toCredentialSource(reach.tls);
    this.#clock = clock;
    this.#guard = 'guard' in reach ? (reach.guard ?? null) : null;
    this.#bases =
      'socketPath' in reach ? ['http://incus'] : reach.endpoints.map((url) => new URL(url).origin);
    if (this.#bases.length === 0) throw new TypeError('An Incus cluster needs at least one endpoint.');
    // The address of a WebSocket contains the socket path.
    this.#socketBases =
      'socketPath' in reach
        ? [`ws+unix:${reach.socketPath}:`]
        : this.#bases.map((base) => base.replace(/^http/, 'ws'));
  }

  /** New certificates need new connections. Requests in progress end on the earlier ones, and sockets stay open. */
  async #connections(): Promise<OpenConnections> {
    const tls = (await this.#tls?.latest()) ?? null;
    const earlier = this.#open;
    if (earlier !== null && earlier.tls === tls) return earlier;
    const open = openConnections(this.#reach, this.#bases, tls);
    this.#open = open;
    for (const pool of poolsOf(earlier)) pool.close().catch(() => undefined);
    return open;
  }

  async exchange(request: TransportRequest, signal: AbortSignal): Promise<TransportResponse> {
    let failure: unknown;
    for (const index of this.#order()) {
      try {
        this.#refuseForbidden(index);
        const received = await this.#request(index, request, signal);
        this.#preferred = index;
        return received;
      } catch (error) {
        failure = error;
        this.#turnFrom(index);
        const mayMoveOn = request.method === 'GET' || notSentCodes.has(codeOf(error));
        if (!mayMoveOn || signal.aborted || this.#closing.signal.aborted) break;
      }
    }
    throw this.#failed(request.what, failure);
  }

  /** Makes the next request prefer another endpoint, because this one responds with errors. */
  turnAway(): void {
    this.#turnFrom(this.#preferred);
  }

  /** The caller closes the socket. `attach` gets it before it opens, because a daemon may send at once. */
  async openSocket(
    what: string,
    path: string,
    options: { readonly maxBytes: number; readonly attach: (socket: WebSocket) => void },
    signal: AbortSignal,
  ): Promise<WebSocket> {
    let failure: unknown;
    for (const index of this.#order()) {
      try {
        this.#refuseForbidden(index);
        const socket = await this.#connect(index, path, options, signal);
        this.#preferred = index;
        return socket;
      } catch (error) {
        failure = error;
        this.#turnFrom(index);
        if (signal.aborted || this.#closing.signal.aborted) break;
      }
    }
    throw this.#failed(what, failure);
  }

  #failed(what: string, failure: unknown): IncusError {
    const explained = explainTlsError(failure, repair);
    if (explained === null) return noResponseError(what, failure);
    this.#tls?.recheck();
    return noResponseError(what, new Error(explained, { cause: failure }));
  }

  get endpointCount(): number {
    return this.#bases.length;
  }

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the driver was closed'));
    await Promise.all(poolsOf(this.#open).map((pool) => pool.destroy()));
  }

  /** The guarded lookup checks only names, so literal addresses are checked here. */
  #refuseForbidden(index: number): void {
    const base = this.#bases[index];
    if (this.#guard !== null && base !== undefined) assertAddressAllowed(this.#guard, new URL(base).hostname);
  }

  #order(): number[] {
    return this.#bases.map((_base, step) => (this.#preferred + step) % this.#bases.length);
  }

  #turnFrom(index: number): void {
    if (this.#preferred === index) this.#preferred = (index + 1) % this.#bases.length;
  }

  async #request(index: number, request: TransportRequest, signal: AbortSignal): Promise<TransportResponse> {
    const open = await this.#connections();
    const pool = (request.isLongPoll === true ? open.longPollPools : open.pools)[index];
    if (pool === undefined) throw new Error('The endpoint does not exist.');
    const late = new AbortController();
    const cancel = this.#clock.after(request.timeoutMs, () =>
      late.abort(new Error(`no answer within ${request.timeoutMs} ms`)),
    );
    try {
      const response = await pool.request({
        path: request.path,
        method: request.method,
        headers: { ...request.headers },
        body: request.body ?? null,
        signal: AbortSignal.any([signal, late.signal, this.#closing.signal]),
      });
      const body = await readBounded(response.body, request);
      return { status: response.statusCode, headers: response.headers, body };
    } finally {
      cancel();
    }
  }

  async #connect(
    index: number,
    path: string,
    options: { readonly maxBytes: number; readonly attach: (socket: WebSocket) => void },
    signal: AbortSignal,
  ): Promise<WebSocket> {
    const base = this.#socketBases[index] ?? '';
    const { socketOptions } = await this.#connections();
    const socket = new WebSocket(`${base}${path}`, { ...socketOptions, maxPayload: options.maxBytes });
    options.attach(socket);
    const stop = AbortSignal.any([signal, this.#closing.signal]);
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        socket.terminate();
        reject(stop.reason instanceof Error ? stop.reason : new Error('aborted'));
      };
      // Stays registered, because an error without a listener would end the process.
      socket.on('error', reject);
      socket.once('open', () => {
        stop.removeEventListener('abort', giveUp);
        resolve(socket);
      });
      if (stop.aborted) giveUp();
      else stop.addEventListener('abort', giveUp, { once: true });
    });
  }
}

function poolsOf(open: OpenConnections | null): readonly Pool[] {
  return open === null ? [] : [...open.pools, ...open.longPollPools];
}

async function readBounded(body: AsyncIterable<Buffer>, request: TransportRequest): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    // Throwing destroys the body and its connection, so the daemon stops sending.
    if (size > request.maxBytes)
      throw invalidResponseError(request.what, `more than ${request.maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
