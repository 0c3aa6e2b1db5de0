import type { Clock } from '@millrace/platform/clock';
import { msToSecondsRoundUp } from '@millrace/platform/money';
import type { WebSocket } from 'ws';
import type { z } from 'zod';
import { isDriverError } from '../../driver-error.ts';
import { responseSchema, operationSchema, type Operation } from './schemas.ts';
import { invalidResponseError, errorFromResponse, IncusError } from './incus-errors.ts';
import {
  IncusTransport,
  type TransportRequest,
  type IncusConnectionOptions,
  type TransportResponse,
} from './incus-transport.ts';

const mebibyte = 1_048_576;

/** Limits of one exchange. Only a list of everything may be long and slow. */
const bounds = {
  read: { timeoutMs: 12_000, maxBytes: 4 * mebibyte },
  list: { timeoutMs: 60_000, maxBytes: 256 * mebibyte },
  write: { timeoutMs: 30_000, maxBytes: 4 * mebibyte },
};

/** How long the daemon may hold one wait request open. */
const waitSliceMs = 10_000;
const operationPattern = /^\/1\.0\/operations\/[0-9a-f-]{36}(?:\?[A-Za-z0-9=&%_.-]*)?$/;

export type Query = Readonly<Record<string, string | undefined>>;

export type ProjectScope = { readonly project: string } | { readonly 'all-projects': 'true' };

export interface WithEtag<T> {
  readonly value: T;
  readonly etag: string | null;
}

export function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  if (given.length === 0) return path;
  return `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams(given).toString()}`;
}

interface ReadRequest {
  /** Completes "asked to …" in error messages. */
  readonly what: string;
  readonly path: string;
  readonly query?: Query;
}

interface WriteRequest extends ReadRequest {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly body?: unknown;
  readonly etag?: string | null;
}

/** The part of Incus's REST API that the driver uses. Every failure is a `DriverError`; every response is validated. */
export class IncusClient {
  readonly #transport: IncusTransport;
  readonly #operationMs: number;

  constructor(
    reach: IncusConnectionOptions,
    clock: Clock,
    options: { readonly operationMs?: number; readonly project?: string | null } = {},
  ) {
    this.#transport = new IncusTransport(reach, clock);
    this.#operationMs = options.operationMs ?? 600_000;
    this.project = options.project ?? null;
    this.clock = clock;
  }

  readonly clock: Clock;
  /** The only project that the client certificate may use; null if it may use all. */
  readonly project: string | null;

  /** Scope of all owned instances. */
  get everywhere(): ProjectScope {
    return this.project === null ? { 'all-projects': 'true' } : { project: this.project };
  }

  /** Scope of images and networks, which all organisations share. */
  get shared(): Query {
    return this.project === null ? {} : { project: this.project };
  }

  async read<T>(request: ReadRequest, schema: z.ZodType<T>, signal: AbortSignal): Promise<T> {
    return (await this.#read(request, schema, bounds.read, signal)).value;
  }

  async readList<T>(request: ReadRequest, schema: z.ZodType<T>, signal: AbortSignal): Promise<T> {
    return (await this.#read(request, schema, bounds.list, signal)).value;
  }

  /** Null only if the daemon reports that the object does not exist. */
  async find<T>(call: ReadRequest, schema: z.ZodType<T>, signal: AbortSignal): Promise<WithEtag<T> | null> {
    try {
      return await this.#read(call, schema, bounds.read, signal);
    } catch (error) {
      if (isDriverError(error, 'not_found')) return null;
      throw error;
    }
  }

  /** Waits until the change is complete. */
  async write(written: WriteRequest, signal: AbortSignal): Promise<void> {
    const started = await this.begin(written, signal);
    if (started !== null) await this.waitFor(started.path, written.what, signal);
  }

  /** Starts a change; returns the operation to wait for, or null if the change is complete. */
  async begin(
    written: WriteRequest,
    signal: AbortSignal,
  ): Promise<{ readonly path: string; readonly metadata: unknown } | null> {
    const { what, method, body, etag } = written;
    const received = await this.#transport.exchange(
      {
        ...bounds.write,
        what,
        method,
        path: withQuery(written.path, written.query ?? {}),
        headers: {
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(etag && { 'if-match': etag }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      },
      signal,
    );
    const response = this.#responseOf(what, received, false);
    if (response.type === 'sync') return null;
    const path = response.operation ?? '';
    if (!operationPattern.test(path)) throw invalidResponseError(what, 'the operation has an invalid name');
    return { path, metadata: response.metadata };
  }

  /** Waits for an operation until the signal or `operationMs` ends the wait. */
  async waitFor(path: string, what: string, signal: AbortSignal): Promise<Operation> {
    const startedMs = this.clock.monotonicMs();
    const [base = '', query] = path.split('?');
    const target = withQuery(`${base}/wait${query === undefined ? '' : `?${query}`}`, {
      timeout: String(msToSecondsRoundUp(waitSliceMs)),
    });
    while (this.clock.monotonicMs() - startedMs < this.#operationMs) {
      const operation = await this.#waitOnce(target, what, signal);
      if (operation.status_code === 200) return operation;
      if (operation.status_code > 200) {
        throw errorFromResponse(
          what,
          operation.status_code === 400 ? 500 : operation.status_code,
          operation.err ?? '',
          false,
        );
      }
    }
    throw new IncusError('unavailable', `Incus did not ${what} within ${this.#operationMs} ms.`);
  }

  async #waitOnce(target: string, what: string, signal: AbortSignal): Promise<Operation> {
    const received = await this.#transport.exchange(
      {
        ...bounds.read,
        timeoutMs: waitSliceMs + bounds.read.timeoutMs,
        isLongPoll: true,
        what,
        method: 'GET',
        path: target,
      },
      signal,
    );
    let metadata: unknown;
    try {
      // The error of an operation is that of a write, although it is read.
      ({ metadata } = this.#responseOf(what, received, false));
    } catch (error) {
      // The operation was lost with its daemon, or ended and expired: its outcome is unknown.
      if (error instanceof IncusError && error.code === 404 && isOperationMissing(error)) {
        throw new IncusError('unavailable', `Incus lost track of what it did to ${what}.`, { cause: error });
      }
      throw error;
    }
    return parse(operationSchema, metadata, what);
  }

  /** Reads a file or log, which has no JSON envelope. */
  async readBytes(
    request: ReadRequest & { readonly maxBytes: number },
    signal: AbortSignal,
  ): Promise<TransportResponse> {
    const received = await this.#transport.exchange(
      {
        ...bounds.read,
        what: request.what,
        method: 'GET',
        path: withQuery(request.path, request.query ?? {}),
        maxBytes: request.maxBytes,
      },
      signal,
    );
    if (received.status !== 200) this.#responseOf(request.what, received, true);
    return received;
  }

  async pushBytes(
    call: ReadRequest & { readonly headers?: Readonly<Record<string, string>>; readonly bytes?: Buffer },
    signal: AbortSignal,
  ): Promise<void> {
    const request: TransportRequest = {
      ...bounds.write,
      what: call.what,
      method: 'POST',
      path: withQuery(call.path, call.query ?? {}),
      // Without a content type the daemon reads the body as a form and writes an empty file.
      headers: { 'content-type': 'application/octet-stream', ...call.headers },
      ...(call.bytes !== undefined && { body: call.bytes }),
    };
    this.#responseOf(call.what, await this.#transport.exchange(request, signal), false);
  }

  openSocket(
    request: ReadRequest & { readonly maxBytes: number; readonly attach: (socket: WebSocket) => void },
    signal: AbortSignal,
  ): Promise<WebSocket> {
    const path = withQuery(request.path, request.query ?? {});
    return this.#transport.openSocket(request.what, path, request, signal);
  }

  get closing(): AbortSignal {
    return this.#transport.closing;
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  async #read<T>(
    call: ReadRequest,
    schema: z.ZodType<T>,
    limit: { readonly timeoutMs: number; readonly maxBytes: number },
    signal: AbortSignal,
  ): Promise<WithEtag<T>> {
    const path = withQuery(call.path, call.query ?? {});
    const request: TransportRequest = { ...limit, what: call.what, method: 'GET', path };
    for (let round = 1; ; round += 1) {
      const received = await this.#transport.exchange(request, signal);
      try {
        const response = this.#responseOf(call.what, received, true);
        const { etag } = received.headers;
        return {
          value: parse(schema, response.metadata, call.what),
          etag: typeof etag === 'string' ? etag : null,
        };
      } catch (error) {
        // A member that starts or lost its cluster reports so at once; another one may respond.
        if (!isDriverError(error, 'unavailable') || round >= this.#transport.endpointCount) throw error;
        this.#transport.turnAway();
      }
    }
  }

  #responseOf(what: string, received: TransportResponse, isRead: boolean): z.infer<typeof responseSchema> {
    let response: z.infer<typeof responseSchema>;
    try {
      response = responseSchema.parse(JSON.parse(received.body.toString('utf8')));
    } catch (error) {
      throw invalidResponseError(what, error);
    }
    // The body decides, because a forwarded failure can arrive with status 200.
    if (response.type !== 'error') return response;
    throw errorFromResponse(what, response.error_code ?? received.status, response.error ?? '', isRead);
  }
}

function isOperationMissing(error: IncusError): boolean {
  return /operation/i.test(error.message);
}

export function parse<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [first] = result.error.issues;
  const where = first?.path.join('.') ?? '';
  throw invalidResponseError(what, new Error(`${where}: ${first?.message ?? 'not as expected'}`));
}
