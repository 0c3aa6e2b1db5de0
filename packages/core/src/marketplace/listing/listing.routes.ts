import { createHash } from 'node:crypto';
import type { Contract } from '@millrace/contract';
import type { Clock } from '@millrace/platform/clock';
import { Fault } from '@millrace/platform/fault';
import { bytesReply, ignoredFieldsHeader, type BytesReply, type HttpServer } from '@millrace/platform/http';
import { sendSelection, sendSnapshot, takesGzip } from './answer.ts';
import { readFilters, type ListingQuery } from './filters.ts';
import type { KnownSnapshot, KnownTable, Listing } from './listing.ts';

export interface ListingRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly clock: Clock;
  readonly listing: Listing;
}

/** Nobody is shown what may have changed longer ago than this. */
const MAX_AGE_MS = 5_000;
const RETRY_AFTER_SECONDS = 2;

/** Everyone: the machines of the marketplace. */
export function serveListing({ server, operations, clock, listing }: ListingRoutes): void {
  server.serve(operations.listMarketplaceMachines, async ({ body, context }) =>
    answerListing(listing, clock, body, takesGzip(context.header('accept-encoding'))),
  );
}

export function answerListing(
  listing: Pick<Listing, 'table' | 'snapshot'>,
  clock: Clock,
  query: ListingQuery,
  isPacked: boolean,
): BytesReply {
  return isWhole(query)
    ? answerWhole(fresh(listing.snapshot(), clock), clock, isPacked)
    : answerQuery(fresh(listing.table(), clock), clock, query, isPacked);
}

function isWhole({ filters, sort = [], limit, cursor }: ListingQuery): boolean {
  return Object.keys(filters).length + sort.length === 0 && limit == null && cursor == null;
}

function answerWhole(
  { digest, snapshot, asOfMs }: KnownSnapshot,
  clock: Clock,
  isPacked: boolean,
): BytesReply {
  const length = isPacked ? snapshot.packedLength : snapshot.length;
  const headers = { ...headersOf(digest, isPacked, ageOf(asOfMs, clock)), 'content-length': String(length) };
  return bytesReply(headers, async () => sendSnapshot(snapshot, isPacked));
}

/** The tag is of the question and of all machines, so that a client that has the answer costs no search. */
function answerQuery(
  { table, asOfMs }: KnownTable,
  clock: Clock,
  query: ListingQuery,
  isPacked: boolean,
): BytesReply {
  const wish = readFilters(query.filters);
  const asked = JSON.stringify([query.filters, query.sort ?? [], query.limit ?? null, query.cursor ?? null]);
  const digest = createHash('sha256').update(table.digest).update(asked).digest('hex').slice(0, 32);
  const headers = {
    ...headersOf(digest, isPacked, ageOf(asOfMs, clock)),
    ...(wish.ignored.length === 0 ? {} : { 'x-ignored-filters': ignoredFieldsHeader(wish.ignored) }),
  };
  return bytesReply(headers, () => sendSelection(table.select(query, wish), isPacked));
}

function headersOf(digest: string, isPacked: boolean, ageMs: number): Record<string, string> {
  return {
    etag: isPacked ? `"${digest}-gzip"` : `"${digest}"`,
    vary: 'accept-encoding',
    'cache-control': 'no-cache',
    'x-listing-age-ms': String(ageMs),
    ...(isPacked ? { 'content-encoding': 'gzip' } : {}),
  };
}

function ageOf(asOfMs: number, clock: Clock): number {
  return Math.max(0, Math.round(clock.monotonicMs() - asOfMs));
}

function fresh<Known extends { readonly asOfMs: number }>(known: Known | null, clock: Clock): Known {
  if (known !== null && ageOf(known.asOfMs, clock) <= MAX_AGE_MS) return known;
  throw new Fault('SERVICE_UNAVAILABLE', {
    message:
      known === null
        ? 'The machines of the marketplace are still being read.'
        : 'Changes of the marketplace have not been seen for a while, so what is known of it may be wrong.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
