import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { makeCertificate, type TestCertificate } from '../network/certificates.ts';
import { KEEP_ALIVE_MS } from './keep-alive.ts';

export interface ReceivedDelivery {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The raw body, which the signature covers. */
  readonly payload: string;
  readonly event: { readonly id: string; readonly seq: number; readonly resource: { readonly id: string } };
}

/** A tenant's webhook receiver: a real HTTPS server that records deliveries and responds as a test requests. */
export interface WebhookReceiver {
  readonly port: number;
  /** The certificate in PEM, valid for the names of the options. */
  readonly certificate: string;
  readonly received: ReceivedDelivery[];
  /** The number of connections since its start. */
  connections(): number;
  /** Returns a status, or handles the response itself. */
  respond: (
    delivery: ReceivedDelivery,
    response: ServerResponse,
  ) => number | undefined | Promise<number | undefined>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ReceiverOptions {
  readonly host?: string;
  readonly dnsNames?: readonly string[];
  /** An existing certificate, for several receivers with the same trust. */
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
