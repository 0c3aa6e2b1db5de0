import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import {
  authorizedHeaders,
  chat,
  createTestServer,
  createItem,
  type TestServer,
} from './test-server.fixture.ts';

const open: TestServer[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close())));

function serverWith(bodyTimeoutMs = 60_000): TestServer {
  const server = createTestServer({ limits: { bodyTimeoutMs } });
  open.push(server);
  server.serve(createItem, async ({ body }) => ({ id: 'new', size: body.size, key: null }));
  server.serve(chat, async () => ({ ok: true }));
  return server;
}

/** Sends the head of a request and a part of its body, and reads until the server closes the connection. */
function sendPart(port: number, path: string): Promise<string> {
  const head = [
    ...[`POST ${path} HTTP/1.1`, 'Host: x', `Authorization: ${authorizedHeaders.authorization}`],
    ...['Content-Type: application/json', 'Content-Length: 100', '', '{"size":'],
  ];
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(head.join('\r\n')));
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
  });
}

test.each(['/v2/things', '/v1/chat'])(
  'a body that does not arrive in time gets 408 at %s, and the connection is closed',
  async (path) => {
    const server = serverWith(50);
    const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
    const response = await sendPart(port, path);
    expect(response).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
    expect(response).toMatch(/\r\nconnection: close\r\n/i);
    expect(response.toLowerCase()).toContain('body_timeout');
    expect(server.lines.some((line) => line.includes('"level":"error"'))).toBe(false);
  },
);

describe('a body with Content-Encoding or charset', () => {
  const gzip = { 'content-encoding': 'gzip' };
  const json = 'application/json';

  test.each([
    ['with Content-Encoding: gzip', gzip, json],
    ['with Content-Encoding: identity, br', { 'content-encoding': 'identity, br' }, json],
    ['with charset=utf-16', {}, `${json}; charset=utf-16`],
    ['with charset="ISO-8859-1"', {}, `${json}; Charset="ISO-8859-1"`],
  ])('is refused with 415 if sent %s', async (_what, headers, type) => {
    const { fastify } = serverWith();
    const sent = { ...authorizedHeaders, ...headers, 'content-type': type };
    const response = await fastify.inject({
      method: 'POST',
      url: '/v2/things',
      headers: sent,
      payload: '{"size":8}',
    });
    expect([response.statusCode, response.json().reason]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
  });

  test.each([
    [{ 'content-encoding': 'identity' }, json],
    [{}, `${json};charset=UTF-8`],
    [{}, `${json}; charset="utf-8"`],
  ])('is accepted with %j and %s', async (headers, type) => {
    const { fastify } = serverWith();
    const sent = { ...authorizedHeaders, ...headers, 'content-type': type };
    const response = await fastify.inject({
      method: 'POST',
      url: '/v2/things',
      headers: sent,
      payload: '{"size":8}',
    });
    expect(response.statusCode).toBe(201);
  });
});
