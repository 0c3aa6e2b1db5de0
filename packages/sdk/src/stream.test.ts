import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  AbortedError,
  AuthenticationError,
  ConnectionError,
  ServerError,
  StreamInterruptedError,
  TimeoutError,
} from './errors.ts';
import { fakeService, json, streamed } from './fake-service.fixture.ts';
import type { FakeResponse } from './fake-service.fixture.ts';
import { EventParser } from './sse.ts';

const chat = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }], stream: true as const };
const chunk = (content: string): string =>
  `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
const event = (seq: number): string => `id: ${seq}\nevent: rental.running\ndata: {"seq":${seq}}\n\n`;

async function taken<T>(items: AsyncIterable<T>, into: T[] = []): Promise<T[]> {
  for await (const item of items) into.push(item);
  return into;
}

test('EventParser returns the same events however the bytes are split', () => {
  const text =
    ': beat\r\n\r\nid: 1\ndata: one\n\ndata: a\ndata: b\nid: 2\r\revent: x\r\ndata:three\r\n\r\ndata: unfinished';
  const whole = new EventParser().push(text);
  expect(whole).toEqual([
    { id: '1', event: null, data: 'one' },
    { id: '2', event: null, data: 'a\nb' },
    { id: '2', event: 'x', data: 'three' },
  ]);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: text.length }), { maxLength: 20 }), (cuts) => {
      const at = [0, ...cuts.toSorted((a, b) => a - b), text.length];
      const parser = new EventParser();
      const pieces = at.slice(1).map((end, index) => text.slice(at[index], end));
      expect(pieces.flatMap((piece) => parser.push(piece))).toEqual(whole);
    }),
  );
});

test('EventParser refuses an event that is too large', () => {
  const parser = new EventParser();
  const piece = `data: ${'x'.repeat(1024 * 1024)}\n`;
  expect(() => Array.from({ length: 20 }, () => parser.push(piece))).toThrow('longer than');
});

test('a complete chat stream returns all chunks', async () => {
  const service = fakeService([streamed([chunk('a'), chunk('b'), 'data: [DONE]\n\n'])]);
  const chunks = await taken(service.client.chat.create(chat));
  expect(chunks.map(({ choices }) => choices[0]?.delta.content)).toEqual(['a', 'b']);
  expect(service.requests[0]).toMatchObject({
    body: { stream: true },
    headers: { accept: 'text/event-stream' },
  });
});

test('a chat stream that breaks or closes early throws after the received chunks and is not retried', async () => {
  for (const ending of ['cut', 'end'] as const) {
    const service = fakeService([streamed([chunk('a')], ending)]);
    const got: unknown[] = [];
    await expect(taken(service.client.chat.create(chat), got)).rejects.toBeInstanceOf(StreamInterruptedError);
    expect(got).toHaveLength(1);
    expect(service.requests).toHaveLength(1);
  }
});

test('a chat stream that fails throws the error of the service', async () => {
  const failure = {
    object: 'error',
    error: { message: 'engine gone', type: 'upstream_error', param: null, code: 'upstream_error' },
  };
  const service = fakeService([streamed([chunk('a'), `data: ${JSON.stringify(failure)}\n\n`])]);
  const error = await taken(service.client.chat.create(chat)).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ServerError);
  expect(error).toMatchObject({ message: 'engine gone', reason: 'UPSTREAM_ERROR' });
});

test('a feed resumes after the last event if its connection breaks, closes or is silent', async () => {
  const service = fakeService([
    streamed([event(1), event(2)], 'cut'),
    json(503, {}),
    streamed([event(3)], 'end'),
    streamed([event(4), 'id: 5\ndata: {"se'], 'silence'),
    streamed([event(5), event(6)], 'silence'),
  ]);
  const got: number[] = [];
  const reading = (async () => {
    for await (const { seq } of service.client.events.stream({ after: 0 })) {
      got.push(seq);
      if (seq === 6) break;
    }
  })();
  for (let turn = 0; turn < 30 && got.length < 6; turn += 1) await service.clock.advance(10_000);
  await reading;
  expect(got).toEqual([1, 2, 3, 4, 5, 6]);
  expect(service.requests.map(({ headers }) => headers['last-event-id'])).toEqual([
    undefined,
    '2',
    '2',
    '3',
    '4',
  ]);
});

test('a feed with after=latest resumes from its first position if it breaks before the first event', async () => {
  const service = fakeService([
    streamed(['id: 41\n\n'], 'cut'),
    streamed([event(42)], 'end'),
    streamed([event(43)], 'silence'),
  ]);
  const got: number[] = [];
  const reading = (async () => {
    for await (const { seq } of service.client.events.stream({ after: 'latest' })) {
      if (got.push(seq) === 2) break;
    }
  })();
  for (let turn = 0; turn < 10 && got.length < 2; turn += 1) await service.clock.advance(10_000);
  await reading;
  expect(got).toEqual([42, 43]);
  expect(service.requests.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '41', '42']);
  expect(new URL(service.requests[0]?.url ?? '').searchParams.get('after')).toBe('latest');
});

test('a feed fails if the service sends only positions', async () => {
  const places = Array.from({ length: 3 }, () => streamed(['id: 41\n\n'], 'end'));
  const service = fakeService(places, { maxRetries: 2 });
  const gaveUp = taken(service.client.events.stream({ after: 'latest' })).catch((caught: unknown) => caught);
  await service.clock.advance(120_000);
  expect(await gaveUp).toBeInstanceOf(ConnectionError);
});

test('a feed returns every event once and in order, wherever and however often it breaks', async () => {
  const count = 8;
  const ending = fc.constantFrom('cut', 'end');
  const cuts = fc.array(fc.tuple(fc.integer({ min: 0, max: 400 }), ending), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(cuts, async (places) => {
      const connection =
        (at: number, how: 'cut' | 'end' | 'silence'): FakeResponse =>
        (request, signal) => {
          const after = Number(request.headers['last-event-id'] ?? 0);
          const later = Array.from({ length: count - after }, (_, index) => event(after + index + 1)).join(
            '',
          );
          return streamed([later.slice(0, at)], how)(request, signal);
        };
      const service = fakeService(
        [...places.map(([at, how]) => connection(at, how)), connection(100_000, 'silence')],
        { maxRetries: 20 },
      );
      const got: number[] = [];
      const reading = (async () => {
        for await (const { seq } of service.client.events.stream()) if (got.push(seq) === count) break;
      })();
      for (let turn = 0; turn < 20 && got.length < count; turn += 1) await service.clock.advance(9_000);
      await reading;
      expect(got).toEqual(Array.from({ length: count }, (_, index) => index + 1));
    }),
    { numRuns: 30 },
  );
});

test('reading a stream a second time throws', async () => {
  const service = fakeService([streamed([chunk('a'), 'data: [DONE]\n\n'])]);
  const stream = await service.client.chat.create(chat);
  await taken(stream);
  await expect(taken(stream)).rejects.toThrow('read once');
});

test('a feed fails when connections keep failing, and when access is refused', async () => {
  const away = Array.from({ length: 11 }, () => json(503, {}));
  const down = fakeService([streamed([event(1)]), ...away]);
  const gaveUp = taken(down.client.events.stream()).catch((caught: unknown) => caught);
  await down.clock.advance(120_000);
  expect(await gaveUp).toBeInstanceOf(ServerError);

  const revoked = fakeService([
    streamed([event(1)]),
    json(401, { reason: 'API_KEY_REVOKED', message: 'gone' }),
  ]);
  const refused = taken(revoked.client.events.stream()).catch((caught: unknown) => caught);
  await revoked.clock.advance(60_000);
  expect(await refused).toBeInstanceOf(AuthenticationError);
});

test('a feed fails also if each attempt to open it takes long', async () => {
  const attempts: FakeResponse[] = Array.from({ length: 3 }, () => (_request, signal) => {
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  });
  const service = fakeService([streamed([event(1)]), ...attempts], { maxRetries: 2 });
  const gaveUp = taken(service.client.events.stream()).catch((caught: unknown) => caught);
  for (let turn = 0; turn < 6; turn += 1) await service.clock.advance(60_000);
  expect(await gaveUp).toBeInstanceOf(TimeoutError);
});

test('timeoutMs also limits the silence of a stream', async () => {
  const service = fakeService([streamed([chunk('a')], 'silence')], { timeoutMs: 1_000 });
  const broken = taken(await service.client.chat.create(chat)).catch((caught: unknown) => caught);
  await service.clock.advance(1_000);
  expect(await broken).toBeInstanceOf(StreamInterruptedError);
});

test('a quiet feed continues as long as its connections last', async () => {
  const quiet = Array.from({ length: 10 }, () => streamed([': beat\n\n'], 'silence'));
  const service = fakeService([...quiet, streamed([event(1)], 'silence')], { maxRetries: 1 });
  const first = (async () => {
    for await (const { seq } of service.client.events.stream()) return seq;
    return null;
  })();
  for (let turn = 0; turn < 15; turn += 1) await service.clock.advance(70_000);
  expect(await first).toBe(1);
});

test('close ends a waiting loop, and a signal aborts it', async () => {
  const closing = fakeService([streamed([event(1)], 'silence')]);
  const stream = await closing.client.events.stream();
  const all = taken(stream);
  await closing.idle();
  stream.close();
  expect(await all).toEqual([{ seq: 1 }]);

  const aborter = new AbortController();
  const aborting = fakeService([streamed([event(1)], 'silence')]);
  const broken = taken(aborting.client.events.stream({}, { signal: aborter.signal }));
  await aborting.idle();
  aborter.abort();
  await expect(broken).rejects.toBeInstanceOf(AbortedError);
});

test('leaving the loop ends the request', async () => {
  let left = false;
  const service = fakeService([
    (request, signal) => {
      signal.addEventListener('abort', () => (left = true));
      return streamed([event(1)], 'silence')(request, signal);
    },
  ]);
  for await (const { seq } of service.client.events.stream()) {
    expect(seq).toBe(1);
    break;
  }
  expect(left).toBe(true);
});

test('a refused stream rejects before it is read', async () => {
  const service = fakeService([json(503, {})], { maxRetries: 0 });
  await expect(service.client.events.stream()).rejects.not.toBeInstanceOf(ConnectionError);
});
