import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { makeCertificate, type TestCertificate } from '../network/certificates.ts';
import { KEEP_ALIVE_MS } from './keep-alive.ts';

/** What reached a receiver. */
export interface ReceivedDelivery {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** As it came: signatures are over these bytes. */
  readonly payload: string;
  readonly event: { readonly id: string; readonly seq: number; readonly resource: { readonly id: string } };
}

/** A tenant's receiver: a real HTTPS server that keeps what it gets and answers as a test tells it to. */
export interface WebhookReceiver {
  readonly port: number;
  /** PEM, to be trusted; good for the names it was started with. */
  readonly certificate: string;
  readonly received: ReceivedDelivery[];
  /** How many connections were ever made to it. */
  connections(): number;
  /** Answers a status, or does what it likes with the answer. */
  respond: (
    delivery: ReceivedDelivery,
    response: ServerResponse,
  ) => number | undefined | Promise<number | undefined>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ReceiverOptions {
  readonly host?: string;
  readonly dnsNames?: readonly string[];
  /** One that was made before, for several receivers that are trusted alike. */
  readonly certificate?: TestCertificate;
}

export async function startWebhookReceiver(options: ReceiverOptions = {}): Promise<WebhookReceiver> {
  const { host = '127.0.0.1', dnsNames = [] } = options;
  const own = options.certificate ?? (await makeCertificate('receiver', { dnsNames }));
  let connections = 0;
  const server = createServer(
    { cert: own.certificate, key: own.key, keepAliveTimeout: KEEP_ALIVE_MS },
    (request, response) => {
      void take(request, response).catch(() => response.destroy());
    },
  );
  server.on('connection', () => (connections += 1));
  server.listen(0, host);
  await once(server, 'listening');
  const receiver: WebhookReceiver = {
    port: (server.address() as AddressInfo).port,
    certificate: own.certificate,
    received: [],
    connections: () => connections,
    respond: () => 204,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) chunks.push(part);
    const payload = Buffer.concat(chunks).toString('utf8');
    const delivery: ReceivedDelivery = {
      path: request.url ?? '/',
      headers: Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      ),
      payload,
      event: JSON.parse(payload) as ReceivedDelivery['event'],
    };
    receiver.received.push(delivery);
    const status = await receiver.respond(delivery, response);
    if (status !== undefined) response.writeHead(status).end();
  }
  return receiver;
}
