import { testClock } from '@millrace/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { takesGzip, toSnapshot } from './answer.ts';
import { anyFacts, machine, nodeId } from './listing.fixture.ts';
import { answerListing } from './listing.routes.ts';
import type { Listing } from './listing.ts';
import { Table } from './table.ts';

function known(asOfMs: number): Pick<Listing, 'table' | 'snapshot'> {
  const table = new Table();
  const facts = fc.sample(anyFacts, { numRuns: 20, seed: 1 });
  table.apply(facts.map((each, number) => [nodeId(number), machine(nodeId(number), each)]));
  const packing = table.live.pack();
  let packed = packing.next();
  while (packed.done !== true) packed = packing.next();
  const snapshot = toSnapshot(packed.value, table.live.all());
  return {
    table: () => ({ asOfMs, table }),
    snapshot: () => ({ asOfMs, digest: table.digest, snapshot }),
  };
}

const whole = { filters: {} };
const filtered = { filters: { available: true } };

describe('an answer of the listing', () => {
  it('is never older than five seconds: rather there is none', async () => {
    const clock = testClock();
    const listing = known(clock.monotonicMs());
    for (const query of [whole, filtered]) {
      expect(answerListing(listing, clock, query, true).headers).toMatchObject({ 'x-listing-age-ms': '0' });
    }
    await clock.advance(5_000);
    for (const query of [whole, filtered]) {
      expect(answerListing(listing, clock, query, true).headers).toMatchObject({
        'x-listing-age-ms': '5000',
      });
    }
    await clock.advance(1);
    for (const query of [whole, filtered]) {
      expect(() => answerListing(listing, clock, query, true)).toThrow(
        expect.objectContaining({ reason: 'SERVICE_UNAVAILABLE' }),
      );
    }
  });

  it('has a tag of its own for each question and each form', () => {
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
      [true, false].map((isPacked) => answerListing(listing, clock, query, isPacked).headers['etag']),
    );
    expect(new Set(tags).size).toBe(tags.length);
  });
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
])('Accept-Encoding %s takes gzip: %s', (header, expected) => {
  expect(takesGzip(header)).toBe(expected);
});
