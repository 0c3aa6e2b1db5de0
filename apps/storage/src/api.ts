import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { DriverError, isDriverError } from '@millrace/compute';
import type { Timer } from '@millrace/platform/clock';
import type { Logger } from '@millrace/platform/log';
import { httpStatusOf, volumeSpecBody } from '@millrace/storage/wire';
import type { AcceptedClients } from './accepted-clients.ts';
import { Slots } from './slots.ts';
import type { Volumes } from './volumes.ts';

export interface ApiDeps {
  readonly volumes: Pick<Volumes, 'ensure' | 'list' | 'remove' | 'removeSnapshot' | 'snapshot'>;
  readonly clock: Timer;
  readonly log: Logger;
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
  readonly clients: AcceptedClients;
}

const maxBodyBytes = 1_048_576;
const maxConcurrent = 128;
/** Lists have their own limit, so that hanging requests do not make the node appear unreachable. */
const maxConcurrentLists = 16;
/** The client has timed out by then. The work continues and blocks only its own volume. */
const requestTimeoutMs = 130_000;
const listTimeoutMs = 60_000;
/** A host that tries again and again must not fill the log. */
const rejectionLogMs = 1_000;

interface ApiResponse {
  readonly status: number;
  readonly body?: unknown;
}

/** Agents and workers both support it. */
export const minTlsVersion = 'TLSv1.3';

/** HTTPS server for requests of the control plane, with certificates on both sides. */
export function createApi({ volumes, clock, log, clients, ...tls }: ApiDeps): Server {
  const slots = {
    orders: new Slots({ clock, what: 'requests', most: maxConcurrent, timeoutMs: requestTimeoutMs }),
    lists: new Slots({ clock, what: 'list requests', most: maxConcurrentLists, timeoutMs: listTimeoutMs }),
  };

  const rejectionOf = (socket: Socket): string | null =>
    clients.rejectionOf((socket as TLSSocket).getPeerCertificate().fingerprint256);

  async function respond(request: IncomingMessage): Promise<ApiResponse> {
    // The list may have changed after the connection was opened. Workers then retry until the operator corrects the list.
    const rejection = rejectionOf(request.socket);
    if (rejection !== null) throw new DriverError('unavailable', rejection);
    return slots[isList(request) ? 'lists' : 'orders'].take(() => handleRequest(request, volumes));
  }

  const server = createServer(
    {
      cert: tls.certificate,
      key: tls.key,
      requestCert: true,
      // `AcceptedClients` decides: the list changes, and no authority may add to it.
      rejectUnauthorized: false,
      minVersion: minTlsVersion,
      // An idle connection without a certificate would use one of the connections that workers need.
      handshakeTimeout: 5_000,
      maxHeaderSize: 8_192,
      headersTimeout: 10_000,
      requestTimeout: 30_000,
    },
    (request, response) => {
      respond(request).then(
        ({ status, body }) => send(response, status, body),
        (error: unknown) => sendError(response, error, log),
      );
    },
  );
  server.maxConnections = 256;
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  // Before HTTP, so that nothing of an unknown client is parsed.
  server.prependListener('secureConnection', (socket: TLSSocket) => {
    const rejection = rejectionOf(socket);
    if (rejection === null) return;
    socket.destroy();
    if (clock.monotonicMs() < quietUntilMs) return;
    quietUntilMs = clock.monotonicMs() + rejectionLogMs;
    log.warn({ client: socket.remoteAddress }, rejection);
  });
  return server;
}

const volumePath = /^\/v1\/volumes\/([^/?#]{1,64})$/;
const snapshotPath = /^\/v1\/volumes\/([^/?#]{1,64})\/snapshots\/([^/?#]{1,64})$/;

const isList = ({ method, url }: IncomingMessage): boolean => method === 'GET' && url === '/v1/volumes';

async function handleRequest(request: IncomingMessage, volumes: ApiDeps['volumes']): Promise<ApiResponse> {
  const { method = '', url = '' } = request;
  if (isList(request)) return { status: 200, body: { volumes: await volumes.list() } };
  const [, volumeId] = volumePath.exec(url) ?? [];
  if (volumeId !== undefined && method === 'PUT') {
    const parsed = volumeSpecBody.safeParse(await readJson(request));
    if (!parsed.success) throw new DriverError('refused', 'The volume spec does not match the schema.');
    return { status: 200, body: await volumes.ensure({ externalId: volumeId, ...parsed.data }) };
  }
  if (volumeId !== undefined && method === 'DELETE') {
    await volumes.remove(volumeId);
    return { status: 204 };
  }
  const [, ofVolume, snapshotId] = snapshotPath.exec(url) ?? [];
  if (ofVolume !== undefined && snapshotId !== undefined && method === 'PUT') {
    return { status: 200, body: await volumes.snapshot(ofVolume, snapshotId) };
  }
  if (ofVolume !== undefined && snapshotId !== undefined && method === 'DELETE') {
    await volumes.removeSnapshot(ofVolume, snapshotId);
    return { status: 204 };
  }
  throw new DriverError('unsupported', 'The agent has no such operation.');
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes)
      throw new DriverError('refused', `A volume spec must have at most ${maxBodyBytes} bytes.`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

function send(response: ServerResponse, status: number, body?: unknown): void {
  if (response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

function sendError(response: ServerResponse, error: unknown, log: Logger): void {
  if (isDriverError(error)) {
    send(response, httpStatusOf(error.kind), { error: { kind: error.kind, message: error.message } });
    return;
  }
  log.error({ err: error }, 'request failed with an internal error');
  send(response, 500, {
    error: { kind: 'unavailable', message: 'The agent failed with an internal error; see its log.' },
  });
}
