import { createServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createEndpointHandler, type EndpointOptions } from '@restatedev/restate-sdk/node';
import { systemClock, withDeadline, type Timer } from '../clock/index.ts';
import type { Logger } from '../log/index.ts';
import { serviceName } from './service-name.ts';

export interface RestateEndpointOptions {
  readonly services: EndpointOptions['services'];
  /** Before the names of the services, so that installations can share a Restate. None unless said. */
  readonly prefix?: string;
  /** Public keys (`publickeyv1_…`) of the Restate servers that may call. At least one. */
  readonly identityKeys: readonly string[];
  /** The address to bind; loopback unless said otherwise. */
  readonly host?: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Lets several processes with the same code serve one address; the kernel deals calls out to those alive. */
  readonly sharePort?: boolean;
  readonly log: Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;
  readonly clock?: Timer;
  /** How long `close` waits for handlers that are running. Restate runs again what it cuts off. */
  readonly drainMs?: number;
}

export interface RestateEndpoint {
  readonly url: string;
  readonly port: number;
  /** Takes no new calls, waits for the running ones up to the limit, then cuts the rest. */
  close(): Promise<void>;
}

const defaultDrainMs = 10_000;

type LogLine = NonNullable<EndpointOptions['logger']>;

function logTo(log: RestateEndpointOptions['log'], isClosing: () => boolean): LogLine {
  return (meta, ...message) => {
    // While a handler is replayed it says again what it said before.
    if (meta.replaying) return;
    // Outside an invocation the library tells what it is about to do; only what goes wrong there concerns anyone.
    const chatter = meta.level === 'info' && meta.context === undefined;
    const level = chatter || meta.level === 'trace' ? 'debug' : meta.level;
    const text = message.map(String).join(' ');
    const fields = { invocationId: meta.context?.invocationId };
    // The library logs an error only if it cannot write a result to Restate. On shutdown that is expected: Restate retries.
    if (level === 'error' && isClosing())
      log.info(fields, 'handler interrupted by shutdown; Restate retries it');
    else log[level](fields, text);
  };
}

/**
 * Serves durable handlers to Restate. Every request must be signed by one of the identity keys, because whoever may
 * call this endpoint may run any handler with any payload. The library's own server would listen on every address.
 */
export async function createRestateEndpoint(options: RestateEndpointOptions): Promise<RestateEndpoint> {
  const { host = '127.0.0.1', port, clock = systemClock, drainMs = defaultDrainMs } = options;
  if (options.identityKeys.length === 0) {
    throw new TypeError('A Restate endpoint needs at least one identity key: without it anyone may call it.');
  }
  let isClosing = false;
  const server = createServer(
    createEndpointHandler({
      services: options.services.map((service) => ({
        ...service,
        name: serviceName(options.prefix ?? '', service.name),
      })),
      identityKeys: [...options.identityKeys],
      logger: logTo(options.log, () => isClosing),
    }),
  );
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, reusePort: options.sharePort ?? false }, resolve);
  });
  const bound = (server.address() as AddressInfo).port;

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    async close() {
      isClosing = true;
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      for (const session of sessions) session.close();
      await withDeadline(clock, 'Draining Restate handlers', drainMs, () => closed).catch(async () => {
        for (const session of sessions) session.destroy();
        await closed;
      });
    },
  };
}
