import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { testIds } from '@millrace/testing';
import { afterAll, expect, test } from 'vitest';
import { handleBrokenConnections } from './broken-connections.ts';
import { createGatewayHarness } from '../gateway.fixture.ts';
import { InFlightSet } from './in-flight-set.ts';

const harness = await createGatewayHarness({ models: [] });
afterAll(() => harness.close());

function exchange(text: string): Promise<string> {
  const { port, hostname } = new URL(harness.url);
  return new Promise((resolve, reject) => {
    let response = '';
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.setEncoding('utf8').on('data', (chunk: string) => (response += chunk));
    socket.on('close', () => resolve(response)).on('error', reject);
  });
}

test.each([
  [
    'headers over the limit',
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-Pad: ${'x'.repeat(20_000)}\r\n\r\n`,
    'headers_too_large',
  ],
  ['text that is not HTTP', 'SSH-2.0-OpenSSH_9.2\r\n\r\n', 'malformed_http'],
  [
    'a request with two lengths',
    'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'malformed_http',
  ],
])('a connection with %s gets a v1 error body, a request id and is closed', async (_name, text, code) => {
  const response = await exchange(text);
  expect(response).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(response).toMatch(/\r\nx-inference-request-id: req_/);
  const body = JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4)) as Record<string, unknown>;
  expect(body).toMatchObject({ object: 'error', code: 400, error: { code } });
});

test('a connection that is cut mid-request affects no other request', async () => {
  const { port, hostname } = new URL(harness.url);
  await new Promise<void>((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Le');
      socket.resetAndDestroy();
    });
    socket.on('close', () => resolve());
  });
  expect((await fetch(`${harness.url}/v1/nothing`)).status).toBe(404);
});

test('a body that arrives too slowly gets an error, and the connection is closed even if the client keeps it open', async () => {
  const open = new InFlightSet<ServerResponse>();
  const timers: (() => void)[] = [];
  const clock = { after: (_ms: number, run: () => void) => (timers.push(run), () => undefined) };
  const server = createServer({ requestTimeout: 0, headersTimeout: 0, connectionsCheckingInterval: 10 });
  server.on('request', (_request, response) => {
    open.add(response);
    // Set only now, so that the limit applies to the body and not to late headers.
    server.requestTimeout = 50;
  });
  handleBrokenConnections(server, { clock, ids: testIds }, open);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let reply = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (reply += chunk));
  socket.on('error', () => undefined);
  socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"mo');
  await once(socket, 'end');
  expect(reply).toMatch(/^HTTP\/1\.1 408 /);
  expect(reply).toContain('body_timeout');
  expect(await connections(server)).toBe(1);
  for (const run of timers) run();
  await expect.poll(() => connections(server)).toBe(0);
  socket.destroy();
  server.close();
});

function connections(server: Server): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
  );
}
