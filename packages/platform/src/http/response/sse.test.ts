import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { get } from 'node:http';
import type { Operation } from '@millrace/contract';
import { afterEach, expect, test } from 'vitest';
import { SimulatedClock } from '../../clock/index.ts';
import { Fault } from '../../fault/index.ts';
import { sse } from '../index.ts';
import { formatEvent, streamEvents } from './sse.ts';
import {
  authorizedHeaders,
  createTestServer,
  feed,
  testContract,
  testPrincipal,
} from '../test-server.fixture.ts';
import type { TestServer } from '../test-server.fixture.ts';
import type { SseStream } from './reply.ts';
import type { HttpServerOptions } from '../types.ts';

const open: TestServer[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close())));

/** Starts a server and a client, and gives the test the client's stream. */
async function connect(
  clock: SimulatedClock,
  options: Partial<HttpServerOptions> = {},
  operation: Operation = feed,
): Promise<{
  readonly server: TestServer;
  readonly stream: SseStream;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly received: () => string;
  readonly leave: () => void;
  readonly ended: Promise<void>;
  readonly returned: Promise<void>;
}> {
  const server = createTestServer({ clock, ...options });
  open.push(server);
  const started = Promise.withResolvers<SseStream>();
  const returned = Promise.withResolvers<void>();
  server.serve(operation, async () =>
    sse(async (stream) => {
      started.resolve(stream);
      await new Promise((resolve) => stream.signal.addEventListener('abort', resolve));
      returned.resolve();
    }),
  );
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const request = get({
    port,
    path: '/v2/feed',
    headers: { ...authorizedHeaders, accept: 'text/event-stream' },
  });
  const response = await new Promise<IncomingMessage>((resolve) => request.once('response', resolve));
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    text += chunk;
  });
  response.on('error', () => undefined);
  request.on('error', () => undefined);
  const ended = new Promise<void>((resolve) => response.once('end', resolve));
  const stream = await started.promise;
  return {
    server,
    stream,
    headers: response.headers,
    received: () => text,
    leave: () => request.destroy(),
    ended,
    returned: returned.promise,
  };
}

async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 2_000 && !condition(); turn += 1) await new Promise(setImmediate);
  expect(condition()).toBe(true);
}

test('streamEvents sends the usual response headers and events with ids', async () => {
  const { stream, headers, received } = await connect(new SimulatedClock());
  expect(headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'x-request-id': expect.stringMatching(/^req_/),
    ratelimit: expect.any(String),
    'cache-control': 'no-store',
  });
  expect(await stream.send({ id: '7', event: 'key.created', data: { a: 'line\nbreak' } })).toBe(true);
  await until(() => received().includes('\n\n'));
  expect(received()).toBe('id: 7\nevent: key.created\ndata: {"a":"line\\nbreak"}\n\n');
});

test('streamEvents sends a keep-alive comment on an idle stream', async () => {
  const clock = new SimulatedClock();
  const { received } = await connect(clock);
  await clock.advance(15_000);
  await until(() => received() === ': keep-alive\n\n');
});

test('streamEvents aborts the signal of the producer when the client disconnects', async () => {
  const { stream, leave, returned } = await connect(new SimulatedClock());
  leave();
  await returned;
  expect(await stream.send({ data: 1 })).toBe(false);
});

test('streamEvents ends streams cleanly when the server drains', async () => {
  const { server, ended, returned } = await connect(new SimulatedClock());
  const drained = server.drain();
  await Promise.all([returned, ended, drained]);
});

test.each([
  ['its key was revoked', () => Promise.reject(new Fault('API_KEY_REVOKED'))],
  ['its organisation was suspended', () => Promise.reject(new Fault('ORGANISATION_SUSPENDED'))],
  ['its key lost the scope', () => Promise.resolve(testPrincipal({ scopes: new Set() }))],
])('streamEvents ends at the next heartbeat after %s', async (_what, authenticate) => {
  const clock = new SimulatedClock();
  let response: HttpServerOptions['authenticate'] = async () => testPrincipal();
  const operations = { ...testContract.operations, feed: { ...feed, scope: 'rentals:read' } } as const;
  const { received, ended, returned } = await connect(
    clock,
    { contract: { operations }, authenticate: (attempt) => response(attempt) },
    operations.feed,
  );
  await clock.advance(15_000);
  await until(() => received() === ': keep-alive\n\n');
  response = authenticate;
  await clock.advance(15_000);
  await Promise.all([ended, returned]);
  expect(received()).toBe(': keep-alive\n\n');
});

test('streamEvents continues while the key cannot be checked', async () => {
  const clock = new SimulatedClock();
  let response: HttpServerOptions['authenticate'] = async () => testPrincipal();
  const { received } = await connect(clock, { authenticate: (attempt) => response(attempt) });
  response = () => Promise.reject(new Fault('SERVICE_UNAVAILABLE'));
  await clock.advance(15_000);
  await until(() => received() === ': keep-alive\n\n');
});

test('streamEvents ends after the maximum duration', async () => {
  const clock = new SimulatedClock();
  const { ended } = await connect(clock);
  await clock.advance(3_600_000);
  await ended;
});

/** A client that never reads. */
class StuckResponse extends EventEmitter {
  writableLength = 0;
  destroyed = false;
  ended = false;
  write(text: string): boolean {
    this.writableLength += text.length;
    return false;
  }
  end(): void {
    this.ended = true;
  }
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

test('streamEvents waits for a slow client and disconnects one that never reads', async () => {
  const clock = new SimulatedClock();
  const response = new StuckResponse();
  let sent = 0;
  const done = streamEvents(
    sse(async (stream) => {
      while (await stream.send({ data: 'x'.repeat(2_000) })) sent += 1;
    }),
    {
      response: response as unknown as ServerResponse,
      clock,
      limits: { sseHeartbeatMs: 1_000, sseMaxBufferedBytes: 1_000, sseMaxDurationMs: 60_000 },
      draining: new AbortController().signal,
      stillAdmitted: async () => true,
    },
  );
  await clock.advance(999);
  expect(sent).toBe(0);
  response.writableLength = 0;
  response.emit('drain');
  await clock.advance(0);
  expect(sent).toBe(1);
  await clock.advance(1);
  await done;
  expect([sent, response.destroyed]).toEqual([1, true]);
});

test('formatEvent removes line breaks from ids and names', () => {
  expect(formatEvent({ id: '1\ndata: x', event: 'a\r\nid: 2', data: null })).toBe(
    'id: 1data: x\nevent: aid: 2\ndata: null\n\n',
  );
});

test('formatEvent writes an id without data, which is not an event but a position to resume from', () => {
  expect(formatEvent({ id: '41' })).toBe('id: 41\n\n');
});
