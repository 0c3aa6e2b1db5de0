import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import type { Clock } from '@millrace/platform/clock';
import { testClock } from '@millrace/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LargeResponses, selectionResponse, acceptsGzip, encodeList } from './list-response.ts';
import { anyFacts, machine, nodeId } from './listing.fixture.ts';
import { respondWithListing, type ListingResponseDeps } from './listing.routes.ts';
import type { Listing } from './listing.ts';
import { MachineTable } from './machine-table.ts';

function known(asOfMs: number): Pick<Listing, 'table' | 'snapshot'> {
  const table = new MachineTable();
  const facts = fc.sample(anyFacts, { numRuns: 20, seed: 1 });
  table.apply(facts.map((each, number) => [nodeId(number), machine(nodeId(number), each)]));
  const packing = table.live.pack();
  let packed = packing.next();
  while (packed.done !== true) packed = packing.next();
  const snapshot = encodeList(packed.value, table.live.all());
  return {
    table: () => ({ asOfMs, table }),
    snapshot: () => ({ asOfMs, digest: table.digest, snapshot }),
  };
}

const depsOf = (listing: ReturnType<typeof known>, clock: Clock): ListingResponseDeps => ({
  listing,
  clock,
  longAnswers: new LargeResponses(2),
});

const whole = { filters: {} };
const filtered = { filters: { available: true } };

describe('respondWithListing', () => {
  it('responds 503 instead of data older than five seconds', async () => {
    const clock = testClock();
    const listing = known(clock.monotonicMs());
    for (const query of [whole, filtered]) {
      expect(respondWithListing(depsOf(listing, clock), query, true).headers).toMatchObject({
        'x-listing-age-ms': '0',
      });
    }
    await clock.advance(5_000);
    for (const query of [whole, filtered]) {
      expect(respondWithListing(depsOf(listing, clock), query, true).headers).toMatchObject({
        'x-listing-age-ms': '5000',
      });
    }
    await clock.advance(1);
    for (const query of [whole, filtered]) {
      expect(() => respondWithListing(depsOf(listing, clock), query, true)).toThrow(
        expect.objectContaining({ reason: 'SERVICE_UNAVAILABLE' }),
      );
    }
  });

  it('has a distinct ETag for each query and encoding', () => {
    const clock = testClock();
    const listing = known(clock.monotonicMs());
    const queries = [
      whole,
      filtered,
      { filters: { available: false } },
      { ...filtered, limit: 1 },
      { ...filtered, limit: 1, sort: [{ field: 'id', dir: 'asc' } as const] },
      { ...filtered, limit: 1, sort: [{ field: 'id', dir: 'desc' } as const] },
    ];
    const tags = queries.flatMap((query) =>
      [true, false].map(
        (isPacked) => respondWithListing(depsOf(listing, clock), query, isPacked).headers['etag'],
      ),
    );
    expect(new Set(tags).size).toBe(tags.length);
  });
});

describe('LargeResponses', () => {
  const run = { bytes: Buffer.from(`,${JSON.stringify('x'.repeat(600_000))}`), from: 0, until: 600_003 };
  const long = { runs: [run, run], nextCursor: undefined };

  it('sends complete responses and counts them only while they are sent', async () => {
    const longResponses = new LargeResponses(2);
    for (const isPacked of [true, false, true, false]) {
      const sent = await selectionResponse(long, isPacked, longResponses);
      if (Buffer.isBuffer(sent)) throw new Error('The response is not streamed.');
      const bytes = await buffer(sent);
      const text = (isPacked ? gunzipSync(bytes) : bytes).toString();
      expect(JSON.parse(text).instances.map(({ length }: string) => length)).toEqual([600_000, 600_000]);
    }
  });

  it('refuses responses above the limit, but not short ones', async () => {
    const longResponses = new LargeResponses(2);
    const [first] = [
      await selectionResponse(long, true, longResponses),
      await selectionResponse(long, false, longResponses),
    ];
    await expect(selectionResponse(long, true, longResponses)).rejects.toMatchObject({
      reason: 'SERVICE_UNAVAILABLE',
    });
    await expect(
      selectionResponse({ runs: [], nextCursor: null }, true, longResponses),
    ).resolves.toBeDefined();
    if (Buffer.isBuffer(first)) throw new Error('The response is not streamed.');
    // A client that disconnects frees its slot.
    await new Promise((resolve) => first.once('close', resolve).destroy());
    await expect(selectionResponse(long, true, longResponses)).resolves.toBeDefined();
  });
});

it('responses compressed concurrently, also after a disconnect, do not mix', async () => {
  const longResponses = new LargeResponses(100);
  const textOf = (char: string, length: number): string => JSON.stringify(char.repeat(length));
  const sizes = [10, 65_530, 200_000, 524_200, 700_000, 1_500_000];
  const check = async (char: string, length: number) => {
    const bytes = Buffer.from(`,${textOf(char, length)}`);
    const sent = await selectionResponse(
      { runs: [{ bytes, from: 0, until: bytes.length }], nextCursor: null },
      true,
      longResponses,
    );
    // The client disconnects while a piece is being compressed.
    if (char === 'x' && !Buffer.isBuffer(sent)) return void sent.destroy();
    const packed = Buffer.isBuffer(sent) ? sent : await buffer(sent);
    const expected = `{"instances":[${textOf(char, length)}],"next_cursor":null}`;
    expect(gunzipSync(packed).toString() === expected, `${length} times ${char}`).toBe(true);
  };
  for (let round = 0; round < 3; round += 1) {
    await Promise.all([...'axbxc'].flatMap((char) => sizes.map((length) => check(char, length))));
  }
});

it.each([
  ['gzip', true],
  ['deflate, gzip;q=0.5, br', true],
  ['*', true],
  ['GZIP', true],
  ['gzip;q=0', false],
  ['*, gzip;q=0', false],
  ['identity', false],
  ['', false],
  [undefined, false],
])('Accept-Encoding %s accepts gzip: %s', (header, expected) => {
  expect(acceptsGzip(header)).toBe(expected);
});
