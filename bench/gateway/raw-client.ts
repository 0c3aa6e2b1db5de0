import { connect, type Socket } from 'node:net';

export interface RawResponse {
  readonly status: number;
  /** From sending to the first byte of the body. */
  readonly firstMs: number;
  readonly bytes: number;
  /** Start of an error response; empty otherwise. */
  readonly error: string;
}

export interface RawClient {
  send(): Promise<RawResponse>;
  close(): void;
}

export interface RawRequest {
  readonly url: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

const headEndMark = '\r\n\r\n';
const lastChunk = '0\r\n\r\n';

/** Parses only enough to find the end of a response; a complete client would cost more than the gateways. */
export function createRawClient(request: RawRequest): RawClient {
  const { hostname, port } = new URL(request.url);
  const body = JSON.stringify(request.body);
  const headers = Object.entries({
    host: `${hostname}:${port}`,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...request.headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const bytes = Buffer.from(`POST ${request.path} HTTP/1.1\r\n${headers.join('')}\r\n${body}`);
  const idle: Connection[] = [];
  const all = new Set<Connection>();
  const open = async (): Promise<Connection> => {
    const connection = await openConnection(hostname, Number(port));
    all.add(connection);
    return connection;
  };
  const exchange = async (connection: Connection): Promise<RawResponse> => {
    const seen = await connection.exchange(bytes);
    if (connection.isOpen()) idle.push(connection);
    return seen;
  };
  const usable = (): Connection | null => {
    for (let found = idle.pop(); found !== undefined; found = idle.pop()) {
      if (found.isOpen()) return found;
      all.delete(found);
    }
    return null;
  };
  return {
    send: async () => {
      const reused = usable();
      // A server may close an idle connection at the moment of its reuse.
      if (reused !== null) {
        const seen = await exchange(reused).catch(() => null);
        if (seen !== null) return seen;
      }
      return exchange(await open());
    },
    close: () => {
      for (const connection of all) connection.close();
    },
  };
}

interface Connection {
  exchange(bytes: Buffer): Promise<RawResponse>;
  isOpen(): boolean;
  close(): void;
}

/** The response being read: the head, then a number of bytes or the last chunk. */
interface Pending {
  readonly startedMs: number;
  readonly resolve: (seen: RawResponse) => void;
  readonly reject: (error: Error) => void;
  head: Buffer | null;
  status: number;
  firstMs: number;
  bytes: number;
  error: string;
  length: number | null;
  tail: string;
}

async function openConnection(host: string, port: number): Promise<Connection> {
  const socket: Socket = connect({ host, port, noDelay: true });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  let pending: Pending | null = null;
  const fail = (error: Error): void => {
    pending?.reject(error);
    pending = null;
  };
  socket.on('error', fail);
  socket.on('close', () => fail(new Error('The connection was closed during a response.')));
  socket.on('data', (chunk) => {
    if (pending === null || !read(pending, chunk)) return;
    const { status, firstMs, bytes, error, resolve } = pending;
    pending = null;
    resolve({ status, firstMs, bytes, error });
  });
  return {
    exchange: (bytes) =>
      new Promise((resolve, reject) => {
        const startedMs = performance.now();
        const empty = { head: null, status: 0, firstMs: 0, bytes: 0, error: '', length: null, tail: '' };
        pending = { startedMs, resolve, reject, ...empty };
        socket.write(bytes);
      }),
    isOpen: () => !socket.destroyed,
    close: () => socket.destroy(),
  };
}

/** Answers whether the answer is whole. */
function read(pending: Pending, chunk: Buffer): boolean {
  if (pending.status !== 0) return readBody(pending, chunk);
  const so = pending.head === null ? chunk : Buffer.concat([pending.head, chunk]);
  const at = so.indexOf(headEndMark);
  if (at < 0) {
    pending.head = so;
    return false;
  }
  const head = so.toString('latin1', 0, at);
  pending.status = Number(head.slice(9, 12));
  const length = /content-length: *(\d+)/i.exec(head)?.[1];
  pending.length = length === undefined ? null : Number(length);
  return readBody(pending, so.subarray(at + headEndMark.length));
}

function readBody(pending: Pending, chunk: Buffer): boolean {
  if (chunk.length === 0) return pending.length === 0;
  if (pending.bytes === 0) pending.firstMs = performance.now() - pending.startedMs;
  pending.bytes += chunk.length;
  if (pending.status !== 200) pending.error = (pending.error + chunk.toString('latin1')).slice(0, 500);
  if (pending.length !== null) return pending.bytes >= pending.length;
  pending.tail = (
    pending.tail + chunk.toString('latin1', Math.max(0, chunk.length - lastChunk.length))
  ).slice(-lastChunk.length);
  return pending.tail === lastChunk;
}
