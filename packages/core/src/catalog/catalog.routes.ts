import { createHash } from 'node:crypto';
import type { ResponseBody, Contract } from '@millrace/contract';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import { preparedReply, type HttpServer } from '@millrace/platform/http';
import {
  sortOffers,
  OfferService,
  SingleFlightCache,
  toWireRentalOption,
  toWireReserveOption,
} from '../fleet/index.ts';
import { readPublicModels } from '../inference/index.ts';
import { gpuSummaryOf, type Listing } from '../marketplace/index.ts';
import { toWireCatalogModel, toWireMarketplaceGpu } from './catalog.wire.ts';

export interface PublicCatalogRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  readonly clock: Timer;
  readonly listing: Pick<Listing, 'table'>;
  /** False: responds like an unknown path. */
  readonly isOpen: boolean;
}

type Catalog = ResponseBody<Contract['operations']['getCatalog']>;

interface CachedCatalog {
  readonly body: Catalog;
  readonly text: string;
  readonly etag: string;
}

/** Each process reads the catalog once in this time. Caches may store it as long. */
export const CATALOG_MAX_AGE_MS = 10_000;
const CACHE_CONTROL = 'public, max-age=10';
const DIGEST_CHARS = 27;

export function servePublicCatalog({ server, operations, isOpen, ...deps }: PublicCatalogRoutes): void {
  const offers = new OfferService(deps);
  const read = async () => prepareCatalog(await readCatalog(deps, offers));
  const latest = new SingleFlightCache(deps.clock, read);
  server.serve(operations.getCatalog, async () => {
    if (!isOpen) throw new Fault('ROUTE_NOT_FOUND');
    const { etag, ...catalog } = await latest.get(CATALOG_MAX_AGE_MS);
    return preparedReply(catalog, { etag, 'cache-control': CACHE_CONTROL });
  });
}

/** Shows list prices and live mode only. */
const anonymousRequester = { orgId: null, mode: 'live' } as const;

async function readCatalog(
  { db, clock, listing }: Pick<PublicCatalogRoutes, 'db' | 'clock' | 'listing'>,
  offerService: OfferService,
): Promise<Catalog> {
  const asOf = db.clock.now();
  const [offers, reserveOffers, models] = await Promise.all([
    offerService.rentalOffers(anonymousRequester, {}),
    offerService.reserveOffers(anonymousRequester, {}),
    readPublicModels(db, asOf),
  ]);
  return {
    asOf: asOf.toISOString(),
    offers: sortOffers(offers).map(({ offer }) => toWireRentalOption(offer)),
    reserveOptions: reserveOffers.map(toWireReserveOption),
    models: models.map(toWireCatalogModel),
    marketplace: gpuSummaryOf(listing, clock)?.map(toWireMarketplaceGpu) ?? null,
  };
}

function prepareCatalog(body: Catalog): CachedCatalog {
  const text = JSON.stringify(body);
  const digest = createHash('sha256').update(text).digest('base64url').slice(0, DIGEST_CHARS);
  return { body, text, etag: `"${digest}"` };
}
