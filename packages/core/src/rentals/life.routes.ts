import type { Answer, Contract } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import type { HttpServer, RequestContext } from '@millrace/platform/http';
import { keyCallOf, operatorCauseOf, readCommitted } from '../identity/index.ts';
import { actOnOwn, terminateAny, terminateOwn, type PowerAct } from './asked.service.ts';
import { extendLife, extendTerm } from './extend.service.ts';
import type { Receipt } from './life.service.ts';
import { rebootRental, startRental, stopRental } from './power.service.ts';
import type { RentalKind } from './rental.ts';
import { toWireRental, type WireRental } from './rentals.wire.ts';
import { costOnWire } from './wire-money.ts';
import { serveWriteOffs } from './write-off.routes.ts';

export interface RentalLifeRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
}

type Operations = Contract['operations'];
export type WireReceipt = Answer<Operations['terminateVirtualMachineRental']>;

/** Tenants: ending a rental, switching it, making it last longer. Operators: ending any, and writing off lost hosts. */
export function serveRentalLife({ server, operations }: RentalLifeRoutes): void {
  serveWriteOffs({ server, operations });

  server.serve(operations.terminateVirtualMachineRental, ({ body, context, transact }) =>
    transact(ending, (tx) => terminate(tx, context, body, 'virtual-machine')),
  );

  server.serve(operations.terminateBareMetalRental, ({ body, context, transact }) =>
    transact(ending, (tx) => terminate(tx, context, body, 'bare-metal')),
  );

  server.serve(operations.adminTerminateRental, ({ params, body, context, transact }) =>
    transact(ending, async (tx) => {
      const wish = { rentalId: params.rentalId, reason: body.reason };
      return receiptAnswer(await terminateAny(tx, operatorCauseOf(context), wish));
    }),
  );

  server.serve(operations.startRental, ({ params, context, transact }) =>
    transact({ name: 'start rental', isolation: readCommitted }, (tx) =>
      act(tx, context, { ...params, act: 'start', asked: {} }, (view, { actor }) =>
        startRental(tx, view, { actor }),
      ),
    ),
  );

  server.serve(operations.stopRental, ({ params, body, context, transact }) =>
    transact({ name: 'stop rental', isolation: readCommitted }, (tx) =>
      act(tx, context, { ...params, act: 'stop', asked: body }, (view, { actor }) =>
        stopRental(tx, view, { release: body.release, actor }),
      ),
    ),
  );

  server.serve(operations.rebootRental, ({ params, body, context, transact }) =>
    transact({ name: 'reboot rental', isolation: readCommitted }, (tx) =>
      act(tx, context, { ...params, act: 'reboot', asked: body }, (view, { actor }) =>
        rebootRental(tx, view, { force: body.force, actor }),
      ),
    ),
  );

  server.serve(operations.extendRental, ({ params, body, context, transact }) =>
    transact({ name: 'extend rental', isolation: readCommitted }, (tx) =>
      act(tx, context, { ...params, act: 'extend', asked: body }, (view, { actor, limits }) =>
        'termPeriodDays' in body
          ? extendTerm(tx, view, body.termPeriodDays, { actor, limits })
          : extendLife(tx, view, body.ttlSeconds, { actor, limits }),
      ),
    ),
  );
}

/** Long enough for a busy machine, and shorter than a handler may take. */
export const ENDING_PATIENCE_MS = 20_000;
const ending = {
  name: 'terminate rental',
  isolation: readCommitted,
  patienceMs: ENDING_PATIENCE_MS,
} as const;

interface Answered<Body> {
  readonly body: Body;
  readonly resource: { readonly kind: string; readonly id: string };
}

const resourceOf = (wireId: number) => ({ kind: 'rental', id: String(wireId) });

async function terminate(
  tx: Tx,
  context: RequestContext,
  { rentalId, reason }: { readonly rentalId: number; readonly reason?: string | undefined },
  kind: RentalKind,
): Promise<Answered<WireReceipt>> {
  return receiptAnswer(await terminateOwn(tx, keyCallOf(context), { rentalId, kind, reason }));
}

type Work = Parameters<typeof actOnOwn>[3];

async function act(
  tx: Tx,
  context: RequestContext,
  ask: {
    readonly rentalId: number;
    readonly act: PowerAct;
    readonly asked: Readonly<Record<string, unknown>>;
  },
  work: (view: Parameters<Work>[0], by: Parameters<typeof extendTerm>[3]) => ReturnType<Work>,
): Promise<Answered<WireRental>> {
  const call = keyCallOf(context);
  const record = await actOnOwn(tx, call, ask, (view, { key }) =>
    work(view, { actor: call.cause.actor, limits: key.limits }),
  );
  return { body: toWireRental(record, tx.clock.now()), resource: resourceOf(ask.rentalId) };
}

function receiptAnswer(receipt: Receipt): Answered<WireReceipt> {
  const { rental, commitment } = receipt;
  const isOver = rental.status === 'Terminated';
  return {
    body: {
      message: `Rental ${rental.wireId} ${isOver ? 'has ended' : 'is being terminated'}; billing has stopped.`,
      rentalId: rental.wireId,
      status: rental.status,
      billingStoppedAt: receipt.billingStoppedAt?.toISOString() ?? null,
      finalCost: costOnWire(receipt.finalCost),
      commitment:
        commitment === null
          ? null
          : {
              owedNanoUsd: String(commitment.owed),
              refundPercentage: commitment.refundPercentage,
              refundNanoUsd: String(commitment.refund),
            },
    },
    resource: resourceOf(rental.wireId),
  };
}
