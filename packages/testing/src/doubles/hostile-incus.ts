import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { TLSSocket } from 'node:tls';
import { makeCertificate, type TestCertificate } from '../network/certificates.ts';
import { KEEP_ALIVE_MS } from './keep-alive.ts';
import {
  okResponse,
  FakeIncus,
  errorResponse,
  type IncusRequest,
  type IncusResponse,
  type FakeHardware,
} from './fake-incus.ts';

/** A double of a hostile supplier's daemon: a real TLS server with the API of Incus that misbehaves. */
export interface HostileIncus {
  readonly url: string;
  readonly port: number;
  /** The correct daemon behind it. */
  readonly fake: FakeIncus;
  readonly certificate: TestCertificate;
  /** Applied to each request; null for correct behaviour. */
  misbehaviour: Misbehaviour | null;
  /** All received requests, such as `GET /1.0`. */
  readonly requests: string[];
  /** The output of `incus config trust add`: valid for one certificate, once. */
  trustToken(options?: { readonly restricted?: boolean; readonly fingerprint?: string }): string;
  /** Settings of a driver with this certificate, for the project that suppliers grant. */
  settingsFor(own: TestCertificate): HostileDriverSettings;
  /** Trusts a certificate for that project. */
  trust(fingerprint: string): void;
  /** Closes every connection and uses another certificate from then on. */
  showOtherCertificate(): Promise<void>;
  /** Stops listening. */
  vanish(): Promise<void>;
  /** Listens again at the same port with the same state. */
  comeBack(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface HostileDriverSettings {
  readonly endpoints: readonly string[];
  readonly tls: {
    readonly clientCertificate: string;
    readonly clientKey: string;
    readonly serverCertificate: string;
  };
  readonly instanceType: 'container';
  readonly project: string;
  readonly network: string;
  readonly storagePool: string;
  readonly sshUser: string;
}

/** The misbehaviour for a request; null for the correct response. */
export type Misbehaviour = (request: IncusRequest, fake: FakeIncus) => MisbehaviourResponse | null;

export type MisbehaviourResponse =
  | { readonly do: 'answer'; readonly response: IncusResponse }
  | { readonly do: 'text'; readonly text: string }
  /** Reads the request and never responds. */
  | { readonly do: 'silence' }
  /** Sends a byte now and then, forever. */
  | { readonly do: 'drip' }
  /** Sends the start of a response, then bytes for as long as the client reads. */
  | { readonly do: 'flood' }
  | { readonly do: 'redirect'; readonly to: string }
  | { readonly do: 'reset' }
  | { readonly do: 'vanish' };

export interface HostileIncusOptions {
  readonly name?: string;
  readonly hardware?: Partial<FakeHardware>;
}

const GIBIBYTE = 1_073_741_824;
const DRIP_EVERY_MS = 200;
const FLOOD_CHUNK = Buffer.alloc(262_144, '[');
/** More than any client should read. Beyond this the test has failed, and must not fill the machine's memory. */
const FLOOD_BYTES = 512 * 1_048_576;

const serverOptions = { requestCert: true, rejectUnauthorized: false, keepAliveTimeout: KEEP_ALIVE_MS };
const trust = { restricted: true, projects: ['millrace'] };

export async function startHostileIncus(options: HostileIncusOptions = {}): Promise<HostileIncus> {
  const name = options.name ?? 'pretender';
  const fake = new FakeIncus(name, { ...validHardware(name), ...options.hardware });
  const certificate = await makeCertificate(name);
  const requests: string[] = [];
  let misbehaviour: Misbehaviour | null = null;

  const server = createServer(
    { ...serverOptions, cert: certificate.certificate, key: certificate.key },
    (request, response) => {
      void readIncusRequest(request)
        .then((question) => {
          requests.push(`${question.method} ${question.path}`);
          const action = misbehaviour?.(question, fake) ?? null;
          return action === null
            ? sendResponse(response, fake.respond(question))
            : carryOut(action, request, response, server);
        })
        // The client disconnected, which most of these tests expect.
        .catch(() => request.socket.destroy());
    },
  );
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `https://127.0.0.1:${port}`;

  return {
    url,
    port,
    fake,
    certificate,
    requests,
    get misbehaviour() {
      return misbehaviour;
    },
    set misbehaviour(next) {
      misbehaviour = next;
    },
    trustToken: ({ restricted = true, fingerprint = certificate.fingerprint } = {}) => {
      const secret = randomBytes(32).toString('hex');
      fake.secrets.set(secret, restricted ? trust : { restricted: false, projects: [] });
      const token = { client_name: 'millrace', fingerprint, addresses: [`127.0.0.1:${port}`], secret };
      return Buffer.from(JSON.stringify({ ...token, expires_at: '0001-01-01T00:00:00Z' })).toString('base64');
    },
    settingsFor: (own) => ({
      endpoints: [url],
      tls: {
        clientCertificate: own.certificate,
        clientKey: own.key,
        serverCertificate: certificate.certificate,
      },
      instanceType: 'container',
      project: 'millrace',
      network: 'tenants',
      storagePool: 'default',
      sshUser: 'ubuntu',
    }),
    trust: (fingerprint) => void fake.trusted.set(fingerprint, trust),
    showOtherCertificate: async () => {
      const other = await makeCertificate(name);
      server.setSecureContext({ cert: other.certificate, key: other.key });
      server.closeAllConnections();
    },
    vanish: () => stop(server),
    comeBack: async () => {
      if (server.listening) return;
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    [Symbol.asyncDispose]: () => stop(server),
  };
}

async function carryOut(
  action: MisbehaviourResponse,
  request: IncomingMessage,
  response: ServerResponse,
  server: Server,
): Promise<void> {
  switch (action.do) {
    case 'answer':
      return sendResponse(response, action.response);
    case 'text':
      response.writeHead(200, { 'content-type': 'application/json' }).end(action.text);
      return;
    case 'silence':
      return;
    case 'drip': {
      response.writeHead(200, { 'content-type': 'application/json' });
      const drip = setInterval(() => response.write(' '), DRIP_EVERY_MS);
      response.on('close', () => clearInterval(drip));
      return;
    }
    case 'flood':
      return flood(response);
    case 'redirect':
      response.writeHead(307, { location: action.to }).end();
      return;
    case 'reset':
      request.socket.destroy();
      return;
    case 'vanish':
      await stop(server);
  }
}

function validHardware(name: string): FakeHardware {
  const gpus = Array.from({ length: 8 }, (_, index) => ({
    pciAddress: `0000:${(0x81 + index).toString(16)}:00.0`,
    model: 'NVIDIA H100 80GB HBM3',
    uuid: `GPU-${name}-${index}`,
  }));
  return { cpuCount: 64, ramBytes: 512 * GIBIBYTE, diskBytes: 8_000 * GIBIBYTE, gpus };
}

async function stop(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

function sendResponse(response: ServerResponse, { status, body, etag }: IncusResponse): void {
  const isBytes = body instanceof Uint8Array;
  response.writeHead(status, {
    'content-type': isBytes ? 'application/octet-stream' : 'application/json',
    ...(etag === undefined ? {} : { etag }),
  });
  response.end(isBytes ? body : JSON.stringify(body));
}

async function flood(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json' });
  await pipeline(Readable.from(endless()), response);
}

function* endless(): Generator<Buffer> {
  yield Buffer.from('{"type":"sync","metadata":');
  for (let sent = 0; sent < FLOOD_BYTES; sent += FLOOD_CHUNK.length) yield FLOOD_CHUNK;
}

async function readIncusRequest(request: IncomingMessage): Promise<IncusRequest> {
  const chunks: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) chunks.push(part);
  const { pathname, searchParams } = new URL(request.url ?? '/', 'https://pretender');
  const peer = (request.socket as TLSSocket).getPeerCertificate();
  const shown = typeof peer.fingerprint256 === 'string' ? peer.fingerprint256 : null;
  return {
    method: request.method ?? 'GET',
    path: pathname,
    query: searchParams,
    body: parsed(Buffer.concat(chunks).toString('utf8')),
    fingerprint: shown?.replaceAll(':', '').toLowerCase() ?? null,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const always =
  (action: MisbehaviourResponse): Misbehaviour =>
  () =>
    action;

/** Falsifies the reported hardware. */
const reports =
  (change: (fake: FakeHardware) => unknown): Misbehaviour =>
  (request, { hardware }) =>
    request.path === '/1.0/resources' ? { do: 'answer', response: okResponse(change(hardware)) } : null;

const cardAt = (pci: string, model: string): object => ({
  pci_address: pci,
  vendor_id: '10de',
  product: model,
  nvidia: { model, uuid: `GPU-${pci}`, cuda_version: '12.8', nvrm_version: '570.00' },
});

const pciOf = (index: number): string =>
  `${(index >> 8).toString(16).padStart(4, '0')}:${(index & 255).toString(16).padStart(2, '0')}:00.0`;

const cards = (count: number): object[] =>
  Array.from({ length: count }, (_, index) => cardAt(pciOf(index), 'NVIDIA H100 80GB HBM3'));

/** Ways in which a daemon gives no usable response. */
export const unusableResponses = {
  'garbage instead of JSON': always({ do: 'text', text: '\u0000\u0001<html>{{{' }),
  'JSON that is not a response': always({ do: 'text', text: '[[],{"type":7}]' }),
  'deeply nested JSON': always({ do: 'text', text: '['.repeat(500_000) }),
  'a response with wrong types': (request) =>
    request.path === '/1.0'
      ? { do: 'answer', response: okResponse({ auth: 1, environment: null }) }
      : { do: 'answer', response: okResponse('x') },
  'an endless response': always({ do: 'flood' }),
  'a byte now and then': always({ do: 'drip' }),
  silence: always({ do: 'silence' }),
  'a connection that breaks': always({ do: 'reset' }),
  'a redirect to an internal address': always({
    do: 'redirect',
    to: 'http://169.254.169.254/latest/meta-data/',
  }),
  'an error of a megabyte': always({ do: 'answer', response: errorResponse(500, 'x'.repeat(1_048_576)) }),
} as const satisfies Readonly<Record<string, Misbehaviour>>;

/** One of each kind that callers of the driver can distinguish; the driver's own tests cover all. */
export const unusableResponseKinds = {
  'garbage instead of JSON': unusableResponses['garbage instead of JSON'],
  'an endless response': unusableResponses['an endless response'],
  silence: unusableResponses.silence,
  'a connection that breaks': unusableResponses['a connection that breaks'],
} as const satisfies Readonly<Record<string, Misbehaviour>>;

/** Ways in which a daemon reports impossible hardware. */
export const impossibleHardware = {
  'a thousand GPUs': reports(() => ({ ...validReport(), gpu: { cards: cards(1_000) } })),
  'more GPUs than are read': reports(() => ({ ...validReport(), gpu: { cards: cards(5_000) } })),
  'a million processors': reports(() => ({ ...validReport(), cpu: { total: 1_000_000 } })),
  'no processor': reports(() => ({ ...validReport(), cpu: { total: 0 } })),
  'half a processor': reports(() => ({ ...validReport(), cpu: { total: 0.5 } })),
  'negative memory': reports(() => ({ ...validReport(), memory: { total: -1 } })),
  'memory out of range': reports(() => ({ ...validReport(), memory: { total: 1e300 } })),
  'a model of a megabyte': reports(() => ({
    ...validReport(),
    gpu: { cards: [cardAt(pciOf(1), 'x'.repeat(1_048_576))] },
  })),
} as const satisfies Readonly<Record<string, Misbehaviour>>;

function validReport(): { cpu: object; memory: object; gpu: object } {
  return {
    cpu: { total: 64, sockets: [{ name: 'CPU' }] },
    memory: { total: 512 * GIBIBYTE },
    gpu: { cards: cards(8) },
  };
}

/** Ways in which a daemon fails the creation of a machine; other requests are correct. */
export const createFailures = {
  'reports a created machine but has none': (request, fake) => {
    if (request.method !== 'GET' || !isInstance(request.path)) return null;
    return fake.instances.size === 0 ? null : { do: 'answer', response: errorResponse(404, 'Not Found') };
  },
  'refuses every machine': (request) =>
    isCreateRequest(request)
      ? { do: 'answer', response: errorResponse(500, 'Failed creating instance record') }
      : null,
  'stops in the middle of the creation': (request) => (isCreateRequest(request) ? { do: 'vanish' } : null),
  'stops responding in the middle of the creation': (request, fake) =>
    isCreateRequest(request) || fake.instances.size > 0 ? { do: 'silence' } : null,
  'creates the machine and breaks the connection': (request, fake) => {
    if (!isCreateRequest(request)) return null;
    fake.respond(request);
    return { do: 'reset' };
  },
  'never finishes the creation': (request) =>
    request.path.endsWith('/wait')
      ? { do: 'answer', response: okResponse({ status_code: 103, description: 'Creating instance' }) }
      : null,
  'creates a machine without the requested GPUs': (request, fake) => {
    if (!isCreateRequest(request)) return null;
    const body = request.body as {
      config: Record<string, string>;
      devices: Record<string, Record<string, string>>;
    };
    const devices = Object.fromEntries(Object.entries(body.devices).filter(([, { type }]) => type !== 'gpu'));
    return { do: 'answer', response: fake.respond({ ...request, body: { ...body, devices } }) };
  },
  'starts no machine': (request) =>
    request.method === 'PUT' && request.path.endsWith('/state')
      ? { do: 'answer', response: errorResponse(500, 'Failed to run: forkstart') }
      : null,
} as const satisfies Readonly<Record<string, Misbehaviour>>;

function isInstance(path: string): boolean {
  return path.startsWith('/1.0/instances/');
}

function isCreateRequest({ method, path }: IncusRequest): boolean {
  return method === 'POST' && path === '/1.0/instances';
}
