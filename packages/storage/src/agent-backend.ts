import { DriverError, isDriverError } from '@millrace/compute';
import type { Clock } from '@millrace/platform/clock';
import {
  explainTlsError,
  pinnedTlsOptions,
  toCredentialSource,
  type CredentialSource,
  type PinnedTls,
} from '@millrace/platform/tls';
import { Pool } from 'undici';
import type { z } from 'zod';
import type { VolumeBackend } from './backend.ts';
import { checkSnapshotId, checkVolumeId, checkVolumeSpec } from './check-spec.ts';
import { errorBody, volumeListBody, snapshotBody, volumeViewBody } from './wire.ts';

export interface AgentConnectionOptions {
  readonly endpoint: string;
  readonly tls: PinnedTls | CredentialSource<PinnedTls>;
  readonly clock: Clock;
}

interface AgentRequest {
  /** Completes "asked to …" in error messages. */
  readonly what: string;
  readonly method: 'GET' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

const connectMs = 3_000;
const mebibyte = 1_048_576;

/** Removing a volume waits for its clients; the list covers all volumes of the node. */
const bounds = {
  ensure: { timeoutMs: 120_000, maxBytes: mebibyte },
  list: { timeoutMs: 30_000, maxBytes: 64 * mebibyte },
  write: { timeoutMs: 120_000, maxBytes: mebibyte },
};

const repair = {
  server: 'The storage node',
  trust: 'Put its certificate into the serverCertificateFile of its credential.',
  client:
    'If this repeats, put the certificateFile of its credential into MILLRACE_STORAGE_CLIENT_CERTS_FILE of the node, and check that it has not expired.',
};

interface OpenPool {
  readonly tls: PinnedTls;
  readonly pool: Pool;
}

class AgentConnection {
  readonly #origin: string;
  readonly #tls: CredentialSource<PinnedTls>;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  #open: OpenPool | null = null;

  constructor({ endpoint, tls, clock }: AgentConnectionOptions) {
    this.#origin = new URL(endpoint).origin;
    this.#tls = toCredentialSource(tls);
    this.#clock = clock;
  }

  /** New certificates need new connections. Requests in progress end on the earlier ones. */
  async #pool(): Promise<Pool> {
    const tls = await this.#tls.latest();
    const earlier = this.#open;
    if (earlier?.tls === tls) return earlier.pool;
    const pool = openPool(this.#origin, tls);
    this.#open = { tls, pool };
    earlier?.pool.close().catch(() => undefined);
    return pool;
  }

  async exchange(request: AgentRequest, signal: AbortSignal): Promise<Buffer> {
    const { path, method, timeoutMs } = request;
    const late = new AbortController();
    const cancel = this.#clock.after(timeoutMs, () =>
      late.abort(new Error(`no response within ${timeoutMs} ms`)),
    );
    try {
      const pool = await this.#pool();
      const response = await pool.request({
        path,
        method,
        headers: request.body === undefined ? {} : { 'content-type': 'application/json' },
        body: request.body === undefined ? null : JSON.stringify(request.body),
        signal: AbortSignal.any([signal, late.signal, this.#closing.signal]),
      });
      const body = await readBounded(response.body, request);
      if (response.statusCode >= 200 && response.statusCode < 300) return body;
      throw errorFromResponse(request, response.statusCode, body);
    } catch (cause) {
      if (isDriverError(cause)) throw cause;
      const explained = explainTlsError(cause, repair);
      if (explained !== null) this.#tls.recheck();
      const why = explained ?? (cause instanceof Error ? cause.message : String(cause));
      const message = `The storage node did not respond when asked to ${request.what}: ${why}`;
      throw new DriverError('unavailable', message, { cause });
    } finally {
      cancel();
    }
  }

  async send<T>(request: AgentRequest, schema: z.ZodType<T>, signal: AbortSignal): Promise<T> {
    const parsed = schema.safeParse(jsonOf(await this.exchange(request, signal)));
    if (parsed.success) return parsed.data;
    throw invalidResponseError(request, 'its response does not match the schema');
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the backend was closed'));
    await this.#open?.pool.destroy();
  }
}

/** Manages the volumes of a storage node through its agent. */
export function createAgentBackend(reach: AgentConnectionOptions): VolumeBackend {
  const agent = new AgentConnection(reach);
  return {
    async ensure(spec, signal) {
      checkVolumeSpec(spec);
      const { externalId, ...body } = spec;
      const what = 'apply a volume spec';
      const request = { ...bounds.ensure, what, method: 'PUT', path: pathOf(externalId), body } as const;
      const view = await agent.send(request, volumeViewBody, signal);
      if (view.externalId !== externalId)
        throw invalidResponseError({ what }, 'it responded about another volume');
      return view;
    },

    async list(signal) {
      const what = 'list its volumes';
      const request = { ...bounds.list, what, method: 'GET', path: '/v1/volumes' } as const;
      return (await agent.send(request, volumeListBody, signal)).volumes;
    },

    async snapshot(volumeId, snapshotId, signal) {
      const path = pathOf(volumeId, snapshotId);
      const request = { ...bounds.write, what: 'take a snapshot', method: 'PUT', path, body: {} } as const;
      return agent.send(request, snapshotBody, signal);
    },

    async removeSnapshot(volumeId, snapshotId, signal) {
      const path = pathOf(volumeId, snapshotId);
      await agent.exchange({ ...bounds.write, what: 'remove a snapshot', method: 'DELETE', path }, signal);
    },

    async remove(volumeId, signal) {
      const path = pathOf(volumeId);
      await agent.exchange({ ...bounds.write, what: 'remove a volume', method: 'DELETE', path }, signal);
    },

    close: () => agent.close(),
  };
}

function openPool(origin: string, tls: PinnedTls): Pool {
  return new Pool(origin, {
    // No HTTP/2: undici and Node never return from sending if the server dies with requests in flight.
    allowH2: false,
    connections: 16,
    connect: { timeout: connectMs, minVersion: 'TLSv1.3', ...pinnedTlsOptions(tls) },
    // The timeout of the request's clock covers the whole exchange; undici's would cover only pauses.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

/** The checks keep ids from being read as paths. */
function pathOf(volumeId: string, snapshotId?: string): string {
  checkVolumeId(volumeId);
  if (snapshotId === undefined) return `/v1/volumes/${volumeId}`;
  checkSnapshotId(snapshotId);
  return `/v1/volumes/${volumeId}/snapshots/${snapshotId}`;
}

async function readBounded(body: AsyncIterable<Buffer>, request: AgentRequest): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    // Throwing destroys the body and its connection, so the node stops sending.
    if (size > request.maxBytes)
      throw invalidResponseError(request, `its response is longer than ${request.maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function errorFromResponse(request: AgentRequest, status: number, body: Buffer): DriverError {
  const parsed = errorBody.safeParse(jsonOf(body));
  if (parsed.success) return new DriverError(parsed.data.error.kind, parsed.data.error.message);
  return invalidResponseError(request, `it responded with status ${status} and no valid error`);
}

/** `unavailable`, because an invalid response says nothing about the state of a volume. */
function invalidResponseError({ what }: Pick<AgentRequest, 'what'>, why: string): DriverError {
  return new DriverError('unavailable', `The storage node was asked to ${what}, and ${why}.`);
}
