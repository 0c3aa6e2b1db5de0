import type { ResponseBody, Contract, Query, Region } from '@millrace/contract';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import {
  bytesReply,
  decodeCursor,
  encodeCursor,
  linkNext,
  reply,
  requirePrincipal,
  toPage,
  type HttpServer,
} from '@millrace/platform/http';
import { parseId, toUuid, type RentalId } from '@millrace/platform/ids';
import { z } from 'zod';
import { streamEvents, toWireEvent, type Feed } from '../../events/index.ts';
import type { EndedPosition, LiveRentalPage } from './rental-lists.store.ts';
import {
  getRentalCost,
  getRentalRecord,
  listRentalHistory,
  listRentalRecords,
  requireRental,
  type RentalCostWithHold,
  type HistoryEntry,
} from './rental-queries.service.ts';
import type { TenantRef } from '../../identity/index.ts';
import type { RentalState } from '../model/rental.ts';
import { rentalGpuOf, toWireBareMetal, toWireRental, type WireBareMetal } from './rentals.wire.ts';
import { streamList } from './stream-list.ts';
import { toWireAmount } from '../model/wire-amount.ts';

export interface RentalQueryRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  readonly clock: Timer;
  readonly feed: Feed;
}

type Operations = Contract['operations'];

const liveStates: readonly RentalState[] = ['Pending', 'Running', 'Unknown', 'Failed', 'Terminating'];
const rentalTypes = ['virtual-machine', 'bare-metal'] as const;

export function serveRentalQueries(routes: RentalQueryRoutes): void {
  const { server, operations, db } = routes;

  const liveOf = async (
    tenant: TenantRef,
    kinds: LiveRentalPage['kinds'],
    query: Query<Operations['listVirtualMachineRentals']>,
  ) => {
    const { limit, status } = query;
    const statuses = status === undefined ? liveStates : liveStates.filter((state) => state === status);
    const after = query.cursor === undefined ? null : decodeCursor(query.cursor, liveCursor).live;
    const now = db.clock.now();
    return toPage({
      rows: await listRentalRecords(db, tenant, { kinds, statuses, after, limit }, now),
      limit,
      toItem: (record) => toWireRental(record, now),
      positionOf: ({ rental }) => ({ live: rental.id }),
    });
  };
  server.serve(operations.listVirtualMachineRentals, ({ query, context }) =>
    liveOf(requirePrincipal(context), ['virtual-machine'], query),
  );
  server.serve(operations.listRentals, ({ query, context }) => {
    const { rentalType } = query;
    return liveOf(requirePrincipal(context), rentalType === undefined ? rentalTypes : [rentalType], query);
  });

  serveBareMetalList(routes);

  server.serve(operations.getRental, async ({ params, context }) => {
    const now = db.clock.now();
    const record = await getRentalRecord(db, requirePrincipal(context), params.rentalId, now);
    if (record === null) throw new Fault('RENTAL_NOT_FOUND');
    return toWireRental(record, now);
  });

  server.serve(operations.listRentalHistory, async ({ query, context }) => {
    const { limit, rentalType } = query;
    const page = {
      kinds: rentalType === undefined ? rentalTypes : [rentalType],
      from: query.from === undefined ? null : new Date(query.from),
      until: query.until === undefined ? null : new Date(query.until),
      after: query.cursor === undefined ? null : endedPositionOf(query.cursor),
      limit,
    };
    return toPage({
      rows: await listRentalHistory(db, requirePrincipal(context), page, db.clock.now()),
      limit,
      toItem: toWireHistoryEntry,
      positionOf: ({ id, endedAt }) => ({ ended: endedAt.getTime(), id }),
    });
  });

  server.serve(operations.getRentalCost, async ({ params, context }) => {
    const cost = await getRentalCost(db, requirePrincipal(context), params.rentalId, db.clock.now());
    if (cost === null) throw new Fault('RENTAL_NOT_FOUND');
    return toWireCost(params.rentalId, cost);
  });

  serveRentalEvents(routes);
}

/** Page size if no limit is given. */
const BARE_METAL_PAGE = 200;

/** A plain array, as the interface specifies: all live rentals, or one page with a `Link` header. */
function serveBareMetalList({ server, operations, db }: RentalQueryRoutes): void {
  server.serve(operations.listBareMetalRentals, async ({ query, context }) => {
    const principal = requirePrincipal(context);
    const from = query.cursor === undefined ? null : decodeCursor(query.cursor, liveCursor).live;
    const read = async (after: RentalId | null, limit: number) => {
      const now = db.clock.now();
      const page = { kinds: ['bare-metal'], statuses: liveStates, after, limit } as const;
      const records = await listRentalRecords(db, principal, page, now);
      const shown = records.slice(0, limit);
      const next = records.length > limit ? (shown.at(-1)?.rental.id ?? null) : null;
      return { items: shown.map((record) => toWireBareMetal(record, now)), next };
    };
    const { limit } = query;
    if (limit === undefined)
      return bytesReply({}, () =>
        streamList<WireBareMetal, RentalId>((after) => read(after ?? from, BARE_METAL_PAGE)),
      );
    const { items, next } = await read(from, limit);
    return next === null
      ? items
      : reply(items, { link: linkNext(context.url, encodeCursor({ live: next })) });
  });
}

function serveRentalEvents({ server, operations, db, feed }: RentalQueryRoutes): void {
  server.serve(operations.listRentalEvents, async ({ params, query, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const after = query.cursor === undefined ? 0 : decodeCursor(query.cursor, eventCursor).seq;
    // Unknown and foreign ids must not be looked up in the feed.
    await requireRental(db, { orgId, mode }, params.rentalId);
    const about = { kind: 'rental', id: String(params.rentalId) };
    if (context.wantsEventStream) return streamEvents(feed, context, { after, about });
    const { events, more } = await feed.pageAbout(orgId, { after, limit: query.limit, about: [about] });
    const last = events.at(-1);
    return {
      items: events.map(toWireEvent),
      nextCursor: more && last !== undefined ? encodeCursor({ seq: last.seq }) : null,
    };
  });
}

const rentalId = z.custom<RentalId>(
  (value) => typeof value === 'string' && parseId('rnt', value) !== null,
  'belongs to another list',
);
const LAST_INSTANT_MS = Date.UTC(9999, 11, 31);

/** Each list has its own cursor schema, so that it rejects cursors of other lists. */
const liveCursor = z.strictObject({ live: rentalId });
const endedCursor = z.strictObject({ ended: z.int().min(0).max(LAST_INSTANT_MS), id: rentalId });
const eventCursor = z.strictObject({ seq: z.int().min(1) });

function endedPositionOf(cursor: string): EndedPosition {
  const { ended, id } = decodeCursor(cursor, endedCursor);
  return { endedAt: new Date(ended), id };
}

function toWireHistoryEntry(
  entry: HistoryEntry,
): ResponseBody<Operations['listRentalHistory']>['items'][number] {
  if (entry.kind === 'instance') throw new Error('The marketplace must show instances.');
  return {
    rentalId: entry.wireId,
    externalId: toUuid(entry.id),
    rentalType: entry.kind,
    name: entry.name,
    label: entry.label,
    // Orders accept only regions from the contract's list.
    region: entry.region as Region,
    gpuType: rentalGpuOf(entry),
    gpuCount: entry.gpuCount,
    status: entry.status,
    createdAt: entry.createdAt.toISOString(),
    startedAt: entry.startedAt?.toISOString() ?? null,
    terminatedAt: entry.endedAt.toISOString(),
    terminationReason: entry.reason,
    finalCost: toWireAmount(entry.finalCost),
  };
}

function toWireCost(id: number, cost: RentalCostWithHold): ResponseBody<Operations['getRentalCost']> {
  return {
    rentalId: id,
    totalNanoUsd: String(cost.total),
    postedNanoUsd: String(cost.posted),
    heldNanoUsd: String(cost.held),
    ...(cost.liveTotal === null ? {} : { liveTotalNanoUsd: String(cost.liveTotal) }),
    lines: cost.lines.map(({ meter, from, until, seconds, ratePerHour, amount, transferIds }) => ({
      meter,
      from: from.toISOString(),
      until: until?.toISOString() ?? null,
      seconds,
      costPerHourNanoUsd: String(ratePerHour),
      amountNanoUsd: String(amount),
      transferIds: [...transferIds],
    })),
  };
}
