import { createHash } from 'node:crypto';
import type { Contract } from '@millrace/contract';
import type { Timer } from '@millrace/platform/clock';
import { Fault } from '@millrace/platform/fault';
import { bytesReply, ignoredFieldsHeader, type BytesReply, type HttpServer } from '@millrace/platform/http';
import { LargeResponses, selectionResponse, listResponse, acceptsGzip } from './list-response.ts';
import { parseFilters, type ListingQuery, type ParsedFilters } from './filters.ts';
import { LISTING_MAX_AGE_MS, type Listing } from './listing.ts';

export interface ListingRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly clock: Timer;
  readonly listing: Listing;
}

const RETRY_AFTER_SECONDS = 2;

/** Per process, bounded by memory and processor. */
const LARGE_RESPONSES_MAX = 16;

/** Public route: the machines of the marketplace. */
export function serveListing({ server, operations, clock, listing }: ListingRoutes): void {
  const deps = { listing, clock, longAnswers: new LargeResponses(LARGE_RESPONSES_MAX) };
  server.serve(operations.listMarketplaceMachines, async ({ body, context }) =>
    respondWithListing(deps, body, acceptsGzip(context.header('accept-encoding'))),
  );
}

export interface ListingResponseDeps {
  readonly listing: Pick<Listing, 'table' | 'snapshot'>;
  readonly clock: Timer;
  readonly longAnswers: LargeResponses;
}

export function respondWithListing(
  deps: ListingResponseDeps,
  query: ListingQuery,
  isPacked: boolean,
): BytesReply {
  const { listing, clock } = deps;
  const request = parseFilters(query.filters);
  const ignored =
    request.ignored.length === 0 ? {} : { 'x-ignored-filters': ignoredFieldsHeader(request.ignored) };
  if (isWholeList(query, request)) {
    const { digest, snapshot, asOfMs } = requireFresh(listing.snapshot(), clock);
    const headers = headersOf(digest, isPacked, ageOf(asOfMs, clock));
    const length = String(isPacked ? snapshot.packedLength : snapshot.length);
    return bytesReply({ ...headers, ...ignored, 'content-length': length }, async () =>
      listResponse(snapshot, isPacked),
    );
  }
  const { table, asOfMs } = requireFresh(listing.table(), clock);
  const headers = headersOf(digestOf(table.digest, query), isPacked, ageOf(asOfMs, clock));
  return bytesReply({ ...headers, ...ignored }, () =>
    selectionResponse(table.select(query, request), isPacked, deps.longAnswers),
  );
}

function isWholeList(
  { sort = [], limit, cursor }: ListingQuery,
  { filters, withTest }: ParsedFilters,
): boolean {
  return filters.length + sort.length === 0 && limit == null && cursor == null && !withTest;
}

/** Hashes the query and the content, so that a conditional request needs no search. */
function digestOf(content: string, { filters, sort, limit, cursor }: ListingQuery): string {
  const query = JSON.stringify([filters, sort ?? [], limit ?? null, cursor ?? null]);
  return createHash('sha256').update(content).update(query).digest('hex').slice(0, 32);
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

function ageOf(asOfMs: number, clock: Timer): number {
  return Math.max(0, Math.round(clock.monotonicMs() - asOfMs));
}

function requireFresh<Known extends { readonly asOfMs: number }>(known: Known | null, clock: Timer): Known {
  if (known !== null && ageOf(known.asOfMs, clock) <= LISTING_MAX_AGE_MS) return known;
  throw new Fault('SERVICE_UNAVAILABLE', {
    message:
      known === null
        ? 'The marketplace listing is still loading.'
        : 'The marketplace listing is outdated because its changes could not be read.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
