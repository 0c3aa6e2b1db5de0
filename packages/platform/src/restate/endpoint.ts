import {
  createSecureServer,
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createEndpointHandler, type EndpointOptions } from '@restatedev/restate-sdk/node';
import { systemClock, withDeadline, type Timer } from '../clock/index.ts';
import type { Logger } from '../log/index.ts';
import { watchTlsFiles, type TlsFilesOptions } from '../tls/index.ts';
import { releaseOfDiscovery } from './deployments.ts';
import { serviceName } from './service-name.ts';

export interface RestateEndpointOptions {
  readonly services: EndpointOptions['services'];
  /** The prefix of service names, so that installations can share a Restate. Empty by default. */
  readonly prefix?: string;
  /** Public keys (`publickeyv1_…`) of the Restate servers that may call. At least one. */
  readonly identityKeys: readonly string[];
  /** The certificate that Restate verifies, replaced when its files change. Without it, plain HTTP. */
  readonly tls?: Pick<TlsFilesOptions, 'certFile' | 'keyFile' | 'loaded' | 'everyMs'> | null;
  /** Loopback by default. */
  readonly host?: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Lets several processes with the same code serve one address; the kernel distributes calls among live ones. */
  readonly sharePort?: boolean;
  /** The release of these handlers. Restate cannot register them at the address of another one. */
  readonly release?: string;
  readonly log: Logger;
  readonly clock?: Timer;
  /** How long `close` waits for running handlers. Restate retries those it interrupts. */
  readonly drainMs?: number;
}

export interface RestateEndpoint {
  readonly url: string;
  readonly port: number;
  /** Accepts no new calls, waits for running ones up to the limit, then interrupts the rest. */
  close(): Promise<void>;
}

const defaultDrainMs = 10_000;

type LogLine = NonNullable<EndpointOptions['logger']>;

function logTo(log: RestateEndpointOptions['log'], isClosing: () => boolean): LogLine {
  return (meta, ...message) => {
    // A replayed handler logs the same lines again.
    if (meta.replaying) return;
    // Outside an invocation the library logs routine information; only its warnings and errors are relevant.
    const chatter = meta.level === 'info' && meta.context === undefined;
    const level = chatter || meta.level === 'trace' ? 'debug' : meta.level;
    const text = message.map(String).join(' ');
    const fields = { invocationId: meta.context?.invocationId };
    // The library logs an error only if it cannot write a result. During shutdown Restate retries it.
    if (level === 'error' && isClosing())
      log.info(fields, 'handler interrupted by shutdown; Restate retries it');
    else log[level](fields, text);
  };
}

/**
 * Serves durable handlers to Restate. Every request must be signed by one of the identity keys, because a caller of
 * this endpoint can run any handler with any payload. The library's own server would listen on every address.
 */
export async function createRestateEndpoint(options: RestateEndpointOptions): Promise<RestateEndpoint> {
  const { host = '127.0.0.1', port, tls = null, clock = systemClock, drainMs = defaultDrainMs } = options;
  if (options.identityKeys.length === 0) {
    throw new TypeError(
      'A Restate endpoint needs at least one identity key. Without it anyone could call the endpoint.',
    );
  }
  let isClosing = false;
  const handler = createEndpointHandler({
    services: options.services.map((service) => ({
      ...service,
      name: serviceName(options.prefix ?? '', service.name),
    })),
    identityKeys: [...options.identityKeys],
    logger: logTo(options.log, () => isClosing),
  });
  const handle = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    // Behind a proxy or a shared port, Restate would store these handlers as those of the other release for ever.
    const requested = releaseOfDiscovery(request.url);
    if (requested === null || options.release === undefined || requested === options.release)
      handler(request, response);
    else response.writeHead(503).end();
  };
  const server = tls === null ? createServer(handle) : createSecureServer(tls.loaded, handle);
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
  const watching = tls === null ? null : watchTlsFiles({ ...tls, server, clock, log: options.log });

  return {
    url: `${tls === null ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    async close() {
      isClosing = true;
      await watching?.stop();
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
