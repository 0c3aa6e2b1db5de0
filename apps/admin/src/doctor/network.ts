import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { lookup } from 'node:dns/promises';
import { connect, isIP, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import {
  checkServerIdentity,
  connect as connectTls,
  getCACertificates,
  type ConnectionOptions,
  type TLSSocket,
} from 'node:tls';
import { X509Certificate } from 'node:crypto';
import { systemClock, withDeadline } from '@millrace/platform/clock';
import { isLoopback } from '@millrace/platform/net';
import type { Effects, HttpRequest, HttpResponse, ServedCertificate, TlsStart } from './check.ts';

/** Each step on the network gets this time, and no answer in it counts as none. */
const STEP_MS = 3_000;
const MAX_BODY_BYTES = 4_194_304;

/** The request of a PostgreSQL client that asks for TLS. */
const postgresTlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

export function sendRequest(request: HttpRequest): Promise<HttpResponse> {
  return withDeadline(systemClock, `GET ${new URL(request.url).origin}`, STEP_MS, async (signal) => {
    const response = await openResponse(request, signal);
    return { status: response.statusCode ?? 0, headers: response.headers, body: await readBody(response) };
  });
}

function openResponse(request: HttpRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const { url, ca, clientCertificate, clientKey, serverName, headers, checkName, isPinned = false } = request;
  const options: RequestOptions & ConnectionOptions = {
    headers: { ...headers },
    signal,
    agent: false,
    allowPartialTrustChain: isPinned,
    ...(ca === undefined ? {} : { ca: [...(typeof ca === 'string' ? [ca] : ca)] }),
    ...(clientCertificate === undefined ? {} : { cert: clientCertificate }),
    ...(clientKey === undefined ? {} : { key: clientKey }),
    ...(serverName === undefined
      ? {}
      : {
          servername: serverName,
          checkServerIdentity: (_host: string, shown: Parameters<typeof checkServerIdentity>[1]) =>
            checkServerIdentity(serverName, shown),
        }),
    ...(checkName === undefined ? {} : { checkServerIdentity: () => undefined }),
  };
  const send = url.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const sent = send(url, options, resolve);
    sent.on('error', reject);
    sent.end();
  });
}

async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The certificate that a server shows, whether or not it is accepted. */
export const servedCertificate: Effects['servedCertificate'] = ({ host, port, start, ca }) =>
  withDeadline(systemClock, `TLS of ${host}:${port}`, STEP_MS, async (signal) => {
    const plain = await openSocket(host, port, signal);
    signal.addEventListener('abort', () => plain.destroy());
    try {
      await prepare(plain, start);
      return await handshake(plain, host, ca);
    } finally {
      plain.destroy();
    }
  });

export const greeting: Effects['greeting'] = ({ host, port }) =>
  withDeadline(systemClock, `The greeting of ${host}:${port}`, STEP_MS, async (signal) => {
    const socket = await openSocket(host, port, signal);
    signal.addEventListener('abort', () => socket.destroy());
    try {
      return (await firstBytes(socket)).toString('latin1');
    } finally {
      socket.destroy();
    }
  });

export const isThisMachine: Effects['isThisMachine'] = async (host) => {
  const own = new Set(
    Object.values(networkInterfaces()).flatMap((each = []) => each.map(({ address }) => address)),
  );
  const lookingUp = withDeadline(systemClock, `The address of ${host}`, STEP_MS, () =>
    lookup(host, { all: true }),
  );
  const found = await lookingUp.catch(() => []);
  if (found.length === 0) return null;
  return found.some(({ address }) => own.has(address) || isLoopback(address));
};

function openSocket(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal });
    socket.once('error', reject);
    socket.once('connect', () => {
      // Later errors belong to the step that waits for the socket.
      socket.on('error', () => undefined);
      resolve(socket);
    });
  });
}

function firstBytes(socket: Socket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    socket.once('data', (bytes: Buffer) => {
      socket.pause();
      resolve(bytes);
    });
    socket.once('close', () => reject(new Error('the server closed the connection')));
  });
}

/** PostgreSQL and NATS begin without TLS and then change to it. */
async function prepare(socket: Socket, start: TlsStart): Promise<void> {
  if (start === 'nats') await firstBytes(socket);
  if (start !== 'postgres') return;
  socket.write(postgresTlsRequest);
  const reply = await firstBytes(socket);
  if (reply.toString('latin1') !== 'S') throw new Error('the server offers no TLS');
}

function handshake(plain: Socket, host: string, ca: readonly string[] | null): Promise<ServedCertificate> {
  return new Promise((resolve, reject) => {
    const tls: TLSSocket = connectTls({
      socket: plain,
      rejectUnauthorized: false,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(ca === null ? {} : { ca: [...ca] }),
      // The name has a check of its own.
      checkServerIdentity: () => undefined,
    });
    tls.once('error', reject);
    plain.once('close', () => reject(new Error('the server closed the connection')));
    tls.once('secureConnect', () => {
      const { raw } = tls.getPeerCertificate();
      const rejection = tls.authorizationError as unknown;
      const served = {
        pem: new X509Certificate(raw).toString(),
        rejection: rejection === null || rejection === undefined ? null : codeOf(rejection),
      };
      // Servers log connections that end in another way.
      tls.end(() => resolve(served));
    });
  });
}

/** Node's types say `Error`, and it is a code in some versions. */
function codeOf(rejection: unknown): string {
  if (!(rejection instanceof Error)) return String(rejection);
  return 'code' in rejection ? String(rejection.code) : rejection.message;
}

/** The public authorities and another one. */
export const publicAuthorities = (ca: string | null): readonly string[] => [
  ...getCACertificates('default'),
  ...(ca === null ? [] : [ca]),
];
