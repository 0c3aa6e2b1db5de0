import { once } from 'node:events';
import { createServer, connect, type Server, type Socket } from 'node:net';

/**
 * A TCP proxy on loopback between a client and an engine that fails on demand. It tests an outage of a shared engine:
 * the client under test sees a broken connection while other test files keep using the engine.
 */
export interface TcpProxy {
  readonly host: '127.0.0.1';
  readonly port: number;
  /** Replaces host and port of a URL by the proxy's. */
  rewrite(url: string): string;
  /** Destroys all connections and refuses new ones until `heal`. */
  cut(): void;
  /** Keeps connections open but transfers no bytes, like a stalled network. */
  pause(): void;
  heal(): void;
  /** Destroys the current connections; new ones are accepted. */
  dropConnections(): void;
  connectionCount(): number;
  /** All transferred bytes of both directions as text. Only with the option `capture`. */
  captured(): string;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

type State = 'open' | 'paused' | 'cut';

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
}

function parseTarget(target: string): { host: string; port: number } {
  const url = new URL(target.includes('://') ? target : `tcp://${target}`);
  const port = Number(url.port);
  if (!Number.isInteger(port) || port < 1) throw new Error(`The proxy target ${target} has no port.`);
  return { host: url.hostname, port };
}

export interface TcpProxyOptions {
  /** Stores all transferred bytes. */
  readonly capture?: boolean;
  /** Called with each chunk of either direction. If it returns false, the connection is destroyed and the chunk is lost. */
  readonly admit?: (chunk: Buffer) => boolean;
}

export async function startTcpProxy(target: string, options: TcpProxyOptions = {}): Promise<TcpProxy> {
  const { host, port: targetPort } = parseTarget(target);
  const pairs = new Set<Pair>();
  let state: State = 'open';
  const chunks: Buffer[] = [];

  const destroy = (pair: Pair): void => {
    pairs.delete(pair);
    pair.client.destroy();
    pair.upstream.destroy();
  };
  const dropAll = (): void => {
    for (const pair of pairs) destroy(pair);
  };
  const flow = (pair: Pair, moving: boolean): void => {
    for (const socket of [pair.client, pair.upstream]) {
      if (moving) socket.resume();
      else socket.pause();
    }
  };

  const server: Server = createServer((client) => {
    if (state === 'cut') {
      client.destroy();
      return;
    }
    const pair: Pair = { client, upstream: connect({ host, port: targetPort }) };
    pairs.add(pair);
    for (const [from, to] of [
      [pair.client, pair.upstream],
      [pair.upstream, pair.client],
    ] as const) {
      from.setNoDelay(true);
      from.on('data', (chunk: Buffer) => {
        if (options.admit?.(chunk) === false) return destroy(pair);
        if (options.capture === true) chunks.push(chunk);
        if (!to.write(chunk)) from.pause();
      });
      to.on('drain', () => {
        if (state === 'open') from.resume();
      });
      from.on('end', () => to.end());
      from.on('error', () => destroy(pair));
      from.on('close', () => destroy(pair));
    }
    if (state === 'paused') flow(pair, false);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  const { port } = address;

  const close = async (): Promise<void> => {
    dropAll();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  return {
    host: '127.0.0.1',
    port,
    rewrite: (url) => url.replace(`${host}:${targetPort}`, `127.0.0.1:${port}`),
    cut: () => {
      state = 'cut';
      dropAll();
    },
    pause: () => {
      state = 'paused';
      for (const pair of pairs) flow(pair, false);
    },
    heal: () => {
      state = 'open';
      for (const pair of pairs) flow(pair, true);
    },
    dropConnections: dropAll,
    captured: () => Buffer.concat(chunks).toString('latin1'),
    connectionCount: () => pairs.size,
    close,
    [Symbol.asyncDispose]: close,
  };
}
