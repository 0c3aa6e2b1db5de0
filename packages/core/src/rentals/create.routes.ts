import type { Contract } from '@millrace/contract';
import type { Clock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { requirePrincipal, type HttpServer } from '@millrace/platform/http';
import type { CellId } from '@millrace/platform/ids';
import { createWireIdAllocator } from '@millrace/platform/wire-ids';
import { OfferBook } from '../fleet/index.ts';
import { keyCallOf, pageOf, positionIn, readCommitted } from '../identity/index.ts';
import { readBalance } from '../ledger/index.ts';
import { burnOf } from '../metering/index.ts';
import { quoteFor, toWireQuote } from '../prices/index.ts';
import { HOLD_WINDOW_MS, orderOfVirtualMachine } from './create.ts';
import { createRental } from './create.service.ts';
import { readRecord } from './reading.service.ts';
import { withRecalledMoney, type RecallMoney } from './recalled-money.ts';
import { toWireRentalRecord } from './rentals.wire.ts';
import { requestReservation } from './reservations.service.ts';
import { listReservationRequests } from './reservations.store.ts';
import { createSpareIds } from './spare-ids.ts';

export interface RentalCreationRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  readonly clock: Clock;
  /** Its 32-bit ids are given to what is created here. */
  readonly cell: CellId;
  /** Where what a rental lacks may be lent out for inference. Without it a rental is paid from what is there. */
  readonly recallMoney?: RecallMoney | undefined;
}

/** What a process takes of its cell's ids at once. */
const IDS_AT_ONCE = 50;

/** Tenants: what a rental would cost, having one, and asking for more than can be had by a call. */
export function serveRentalCreation(routes: RentalCreationRoutes): void {
  serveCreate(routes);
  serveQuote(routes);
  serveReservationRequests(routes);
}

function serveCreate({ server, operations, db, cell, recallMoney }: RentalCreationRoutes): void {
  const withId = createSpareIds(createWireIdAllocator({ db, cell, kind: 'rental', chunk: IDS_AT_ONCE }));
  server.serve(operations.createVirtualMachineRental, ({ body, context, transact }) => {
    const order = orderOfVirtualMachine(body);
    const call = keyCallOf(context);
    return withId((wireId, use) =>
      withRecalledMoney(requirePrincipal(context), recallMoney, () =>
        transact({ name: 'create rental', isolation: readCommitted }, async (tx) => {
          const { orgId, mode } = await createRental(tx, call, order, wireId);
          const record = await readRecord(tx, { orgId, mode }, wireId, tx.clock.now());
          if (record === null) throw new Error(`Rental ${wireId} was created and is not there.`);
          use();
          return { body: toWireRentalRecord(record), resource: { kind: 'rental', id: String(wireId) } };
        }),
      ),
    );
  });
}

function serveQuote({ server, operations, db, clock }: RentalCreationRoutes): void {
  const offers = new OfferBook({ db, clock });
  server.serve(operations.quoteRental, async ({ body: wish, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const now = clock.now();
    const [{ available }, burn, isAvailable] = await Promise.all([
      readBalance(db, orgId, mode, now),
      burnOf(db, orgId, mode, now),
      offers.canPlace({ mode }, wish),
    ]);
    const quote = await quoteFor(db, orgId, mode, {
      wish,
      available,
      burn,
      holdWindowMs: HOLD_WINDOW_MS,
      now,
    });
    return toWireQuote(quote, isAvailable);
  });
}

function serveReservationRequests({ server, operations, db }: RentalCreationRoutes): void {
  server.serve(operations.requestReservation, ({ body, context, transact }) =>
    transact({ name: 'request reservation', isolation: readCommitted }, async (tx) => {
      const { id, gpuCount } = await requestReservation(tx, keyCallOf(context), body.gpuCount);
      return {
        body: { message: `Reservation request for ${gpuCount} GPUs received` },
        resource: { kind: 'reservation-request', id },
      };
    }),
  );

  server.serve(operations.adminListReservationRequests, async ({ query }) => {
    const { limit, cursor } = query;
    const rows = await listReservationRequests(db, { limit, after: positionIn('rrq', cursor) });
    return pageOf(rows, limit, ({ id, orgId, userId, gpuCount, createdAt }) => ({
      id,
      organisationId: orgId,
      requestedBy: userId,
      gpuCount,
      createdAt: createdAt.toISOString(),
    }));
  });
}
