import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { authorizedHeaders, createTestServer, createItem, type TestServer } from './test-server.fixture.ts';

const open: TestServer[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close())));

const mebibyte = 1_048_576;

async function listen(): Promise<number> {
  const server = createTestServer({});
  open.push(server);
  server.serve(createItem, async ({ body }) => ({ id: 'new', size: body.size, key: null }));
  return (await server.listen({ host: '127.0.0.1', port: 0 })).port;
}

interface Upload {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly bytes?: number;
}

/** A client that writes the whole request before it reads, as many libraries do. Rejects on a reset. */
function upload(
  port: number,
  { path = '/v2/things', headers = {}, bytes = 8 * mebibyte }: Upload,
): Promise<string> {
  const head = {
    host: 'x',
    connection: 'close',
    'content-type': 'application/json',
    'content-length': String(bytes),
    ...authorizedHeaders,
    ...headers,
  };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', reject);
    socket.pause();
    socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
    const chunk = Buffer.alloc(mebibyte, 0x20);
    const writeOn = (left: number): void => {
      if (left > 0) {
        const next = chunk.subarray(0, Math.min(left, chunk.length));
        socket.write(next, (error) => (error ? reject(error) : writeOn(left - next.length)));
        return;
      }
      let text = '';
      socket.on('data', (data: Buffer) => (text += data.toString('latin1')));
      socket.on('close', () => resolve(text));
      socket.resume();
    };
    writeOn(bytes);
  });
}

describe('a refused upload', () => {
  test.each([
    ['because it is too large', {}, 400, 'BODY_TOO_LARGE'],
    ['because it is compressed', { headers: { 'content-encoding': 'gzip' } }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['because it is not JSON', { headers: { 'content-type': 'text/plain' } }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['because its key is invalid', { headers: { authorization: 'Bearer none' } }, 401, 'INVALID_API_KEY'],
    [
      'to an unknown path',
      { path: '/v2/nowhere', headers: { 'content-type': 'text/plain' } },
      404,
      'ROUTE_NOT_FOUND',
    ],
  ] as const)('%s gets a readable response', async (_why, sent, status, reason) => {
    const port = await listen();
    for (let nth = 0; nth < 5; nth += 1) {
      const response = await upload(port, sent);
      expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(response.toLowerCase()).toContain('connection: close');
      expect(response).toContain(`"reason":"${reason}"`);
    }
  });

  test('after its whole body was read keeps its connection', async () => {
    const port = await listen();
    const response = await fetch(`http://127.0.0.1:${port}/v2/things`, {
      method: 'POST',
      headers: { ...authorizedHeaders, 'content-type': 'application/json' },
      body: JSON.stringify({ size: 7, pad: 'x'.repeat(500_000) }),
    });
    expect([response.status, response.headers.get('connection')]).toEqual([400, 'keep-alive']);
  });
});
