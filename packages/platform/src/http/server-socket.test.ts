import { connect } from 'node:net';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import { afterEach, expect, test } from 'vitest';
import { startTelemetry } from '../telemetry/index.ts';
import { authorizedHeaders, createTestServer, getItem, goodKey } from './test-server.fixture.ts';
import type { TestServer } from './test-server.fixture.ts';
import type { Handler, HttpServerOptions } from './types.ts';

/** Behaviour that only a real connection shows. */

const open: TestServer[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close())));

async function listen(
  handler: Handler<typeof getItem> = async () => ({ id: 'a', size: 1, key: null }),
  options: Partial<HttpServerOptions> = {},
): Promise<{ server: TestServer; port: number }> {
  const server = createTestServer(options);
  open.push(server);
  server.serve(getItem, handler);
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  return { server, port };
}

function exchange(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let response = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      response += chunk;
    });
    socket.on('close', () => resolve(response));
    socket.on('error', reject);
  });
}

test.each([
  [
    'headers over the limit',
    `GET / HTTP/1.1\r\nHost: x\r\nX-Pad: ${'x'.repeat(20_000)}\r\n\r\n`,
    'HEADERS_TOO_LARGE',
  ],
  ['text that is not HTTP', 'SSH-2.0-OpenSSH_9.2\r\n\r\n', 'MALFORMED_HTTP'],
])(
  'the server responds to %s with an error body and a request id, and closes the connection',
  async (_name, text, reason) => {
    const { port } = await listen();
    const response = await exchange(port, text);
    expect(response).toMatch(/^HTTP\/1\.1 400 /);
    expect(response).toMatch(/\r\nx-request-id: req_/);
    expect(response).toContain(`"reason":"${reason}"`);
  },
);

test('the server responds 404 to a path that cannot be decoded', async () => {
  const { port } = await listen();
  const response = await fetch(`http://127.0.0.1:${port}/v2/things/%zz`, { headers: authorizedHeaders });
  expect([response.status, ((await response.json()) as { reason: string }).reason]).toEqual([
    404,
    'ROUTE_NOT_FOUND',
  ]);
  expect(response.headers.get('x-request-id')).toMatch(/^req_/);
});

test('context.signal aborts when the client disconnects', async () => {
  const started = Promise.withResolvers<void>();
  const noticed = Promise.withResolvers<void>();
  const { port } = await listen(async ({ context }) => {
    context.signal.addEventListener('abort', () => noticed.resolve());
    started.resolve();
    await noticed.promise;
    return { id: 'a', size: 1, key: null };
  });
  const socket = connect(port, '127.0.0.1');
  socket.write(`GET /v2/things/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${goodKey}\r\n\r\n`);
  await started.promise;
  socket.destroy();
  await noticed.promise;
});

test('drain completes running requests and refuses new connections', async () => {
  const started = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const { server, port } = await listen(async () => {
    started.resolve();
    await finish.promise;
    return { id: 'a', size: 1, key: null };
  });
  const url = `http://127.0.0.1:${port}/v2/things/a`;
  const running = fetch(url, { headers: authorizedHeaders });
  await started.promise;
  const drained = server.drain();
  while (server.fastify.server.listening) await new Promise(setImmediate);
  await expect(fetch(url, { headers: authorizedHeaders })).rejects.toThrow();
  finish.resolve();
  expect((await running).status).toBe(200);
  await drained;
});

test('beginRequest continues the trace of a trusted proxy and only links other traces', async () => {
  const exporter = new InMemorySpanExporter();
  const telemetry = await startTelemetry({
    service: 'test',
    version: '0',
    cell: 1,
    prometheusPort: null,
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
  });
  try {
    const traceId = 'a'.repeat(32);
    const headers = { ...authorizedHeaders, traceparent: `00-${traceId}-${'b'.repeat(16)}-01` };
    const seen: (string | undefined)[] = [];
    for (const trustedProxies of [['127.0.0.0/8'], []]) {
      const { server } = await listen(
        async ({ context }) => {
          seen.push(context.traceparent);
          return { id: 'a', size: 1, key: null };
        },
        { trustedProxies },
      );
      await server.fastify.inject({ url: '/v2/things/a', headers });
    }
    expect(seen[0]).toContain(traceId);
    expect(seen[1]).toMatch(/^00-/);
    expect(seen[1]).not.toContain(traceId);
    const [, strange] = exporter.getFinishedSpans();
    expect(strange?.links[0]?.context.traceId).toBe(traceId);
    expect(strange).toMatchObject({
      name: 'GET /v2/alpha/things/{thingId}',
      attributes: { 'http.response.status_code': 200, 'millrace.operation': 'getThing' },
    });
  } finally {
    await telemetry.shutdown();
  }
});

test('drain does not wait for a connection without a request', async () => {
  const { server, port } = await listen();
  const socket = connect(port, '127.0.0.1');
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  // A completed request on another connection shows that the server has accepted this one.
  await exchange(port, 'GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  await server.drain();
  await closed;
});
