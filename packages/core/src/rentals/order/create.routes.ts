import type { Contract } from '@millrace/contract';
import type { Timer } from '@millrace/platform/clock';
import type { Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { requirePrincipal, type HttpServer } from '@millrace/platform/http';
import { OfferService } from '../../fleet/index.ts';
import { callContextOf, pageById, positionFromCursor, readCommitted } from '../../identity/index.ts';
import { readBalance } from '../../ledger/index.ts';
import { HOLD_WINDOW_MS, readBurnRate } from '../../metering/index.ts';
import { diskPriceFor, quoteFor, toWireQuote } from '../../prices/index.ts';
import { createBareMetal } from './bare-metal.service.ts';
import { toBareMetalOrder, toVirtualMachineOrder } from './order.ts';
import { createRental } from './accept-order.service.ts';
import { acceptsIdleRules } from './idle-rule.ts';
import { createBareMetalRunner, createOrderRunner, type OrderRunnerDeps } from './order-runner.ts';
import { serveAdminRentals } from '../read/admin-rentals.routes.ts';
import { servePrivateClouds } from './private-cloud.routes.ts';
import { readWrittenRecord } from '../read/rental-queries.service.ts';
import { isReleasable, type Rental } from '../model/rental.ts';
import { toWireRentalRecord } from '../read/rentals.wire.ts';
import { requestReservation } from './reservation-requests.service.ts';
import { listReservationRequests } from './reservation-requests.store.ts';

export interface RentalCreationRoutes extends OrderRunnerDeps {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly clock: Timer;
}

export function serveRentalCreation(routes: RentalCreationRoutes): void {
  serveCreate(routes);
  serveAdminRentals(routes);
  servePrivateClouds({ ...routes, ordering: createOrderRunner({ db: routes.db, cell: routes.cell }) });
  serveQuote(routes);
  serveReservationRequests(routes);
}

const createTransaction = { name: 'create rental', isolation: readCommitted } as const;

function serveCreate({ server, operations, ...deps }: RentalCreationRoutes): void {
  const ordering = createOrderRunner(deps);
  const orderingBareMetal = createBareMetalRunner(ordering, deps);
  server.serve(operations.createVirtualMachineRental, ({ body, context, transact }) => {
    const order = toVirtualMachineOrder(body);
    const call = callContextOf(context);
    return ordering(requirePrincipal(context), (wireId, use) =>
      transact(createTransaction, async (tx) => {
        const created = await createRental(tx, call, order, wireId);
        use();
        return createdReply(tx, created);
      }),
    );
  });

  server.serve(operations.createBareMetalRental, ({ body, context, transact }) => {
    const order = toBareMetalOrder(body);
    const { storageVolume: storage = null } = body;
    const call = callContextOf(context);
    return orderingBareMetal(requirePrincipal(context), storage, (ids, use) =>
      transact(createTransaction, async (tx) => {
        const created = await createBareMetal(tx, call, { order, storage, ...ids });
        use();
        return createdReply(tx, created);
      }),
    );
  });
}

async function createdReply(tx: Tx, { orgId, mode, wireId }: Rental) {
  const record = await readWrittenRecord(tx, { orgId, mode }, wireId);
  return { body: toWireRentalRecord(record), resource: { kind: 'rental', id: String(wireId) } };
}

function serveQuote({ server, operations, db, clock }: RentalCreationRoutes): void {
  const offers = new OfferService({ db, clock });
  server.serve(operations.quoteRental, async ({ body: spec, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const now = db.clock.now();
    // A reserved term is paid to its end, so its GPUs are not released.
    const mayRelease = spec.termType === 'on-demand' && isReleasable({ kind: spec.rentalType, nodeCount: 1 });
    const [{ available }, burn, isAvailable, diskGb, idleRules] = await Promise.all([
      readBalance(db, orgId, mode, now),
      readBurnRate(db, orgId, mode, now),
      offers.canPlace({ mode }, spec),
      mayRelease ? offers.leastDiskGb({ mode }, spec) : null,
      acceptsIdleRules(db, mode, spec),
    ]);
    const quote = await quoteFor(db, orgId, mode, {
      spec,
      available,
      burn,
      holdWindowMs: HOLD_WINDOW_MS,
      now,
    });
    const { region } = spec;
    const diskPriceIn = (priceMode: Mode, sizeGb: number) =>
      diskPriceFor(db, orgId, priceMode, { region, sizeGb, now });
    const disk =
      diskGb === null
        ? null
        : {
            sizeGb: diskGb,
            price: await diskPriceIn(mode, diskGb),
            livePrice: mode === 'test' ? await diskPriceIn('live', diskGb) : null,
          };
    return toWireQuote(quote, { available: isAvailable, idleRules, disk });
  });
}

function serveReservationRequests({ server, operations, db }: RentalCreationRoutes): void {
  server.serve(operations.requestReservation, ({ body, context, transact }) =>
    transact({ name: 'request reservation', isolation: readCommitted }, async (tx) => {
      const { id, gpuCount } = await requestReservation(tx, callContextOf(context), body.gpuCount);
      return {
        body: { message: `Reservation request for ${gpuCount} GPUs received` },
        resource: { kind: 'reservation-request', id },
      };
    }),
  );

  server.serve(operations.adminListReservationRequests, async ({ query }) => {
    const { limit, cursor } = query;
    const rows = await listReservationRequests(db, { limit, after: positionFromCursor('rrq', cursor) });
    return pageById(rows, limit, ({ id, orgId, userId, gpuCount, createdAt }) => ({
      id,
      organisationId: orgId,
      requestedBy: userId,
      gpuCount,
      createdAt: createdAt.toISOString(),
    }));
  });
}
