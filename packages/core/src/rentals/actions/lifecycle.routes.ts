import type { ResponseBody, Contract } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import type { HttpServer, RequestContext } from '@millrace/platform/http';
import { callContextOf, operatorAuditContext, readCommitted } from '../../identity/index.ts';
import {
  runTenantAction,
  terminateAnyRental,
  terminateOwnRental,
  type TenantAction,
} from './tenant-actions.service.ts';
import { extendTtl, extendTerm } from './extend.service.ts';
import type { Receipt } from './termination.service.ts';
import { rebootRental, startRental, stopRental } from './power.service.ts';
import type { RentalKind } from '../model/rental.ts';
import { toWireRental, type WireRental } from '../read/rentals.wire.ts';
import { toWireAmount } from '../model/wire-amount.ts';
import { updateRental } from './update.service.ts';

export interface RentalLifecycleRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
}

type Operations = Contract['operations'];
export type WireReceipt = ResponseBody<Operations['terminateVirtualMachineRental']>;

export function serveRentalLifecycle({ server, operations }: RentalLifecycleRoutes): void {
  server.serve(operations.updateRental, ({ params, body, context, transact }) =>
    transact({ name: 'change rental', isolation: readCommitted }, async (tx) => {
      const record = await updateRental(tx, callContextOf(context), params.rentalId, body);
      return { body: toWireRental(record, tx.clock.now()) };
    }),
  );

  server.serve(operations.terminateVirtualMachineRental, ({ body, context, transact }) =>
    transact(terminateTransaction, (tx) => terminateReply(tx, context, body, 'virtual-machine')),
  );

  server.serve(operations.terminateBareMetalRental, ({ body, context, transact }) =>
    transact(terminateTransaction, (tx) => terminateReply(tx, context, body, 'bare-metal')),
  );

  server.serve(operations.adminTerminateRental, ({ params, body, context, transact }) =>
    transact(terminateTransaction, async (tx) => {
      const request = { rentalId: params.rentalId, reason: body.reason };
      return receiptReply(await terminateAnyRental(tx, operatorAuditContext(context), request));
    }),
  );

  server.serve(operations.startRental, ({ params, context, transact }) =>
    transact({ name: 'start rental', isolation: readCommitted }, (tx) =>
      runAction(tx, context, { ...params, action: 'start', parameters: {} }, (view, { actor }) =>
        startRental(tx, view, { actor }),
      ),
    ),
  );

  server.serve(operations.stopRental, ({ params, body, context, transact }) =>
    transact({ name: 'stop rental', isolation: readCommitted }, (tx) =>
      runAction(tx, context, { ...params, action: 'stop', parameters: body }, (view, { actor }) =>
        stopRental(tx, view, { release: body.release, actor }),
      ),
    ),
  );

  server.serve(operations.rebootRental, ({ params, body, context, transact }) =>
    transact({ name: 'reboot rental', isolation: readCommitted }, (tx) =>
      runAction(tx, context, { ...params, action: 'reboot', parameters: body }, (view, { actor }) =>
        rebootRental(tx, view, { force: body.force, actor }),
      ),
    ),
  );

  server.serve(operations.extendRental, ({ params, body, context, transact }) =>
    transact({ name: 'extend rental', isolation: readCommitted }, (tx) =>
      runAction(tx, context, { ...params, action: 'extend', parameters: body }, (view, { actor, limits }) =>
        'termPeriodDays' in body
          ? extendTerm(tx, view, body.termPeriodDays, { actor, limits })
          : extendTtl(tx, view, body.ttlSeconds, { actor, limits }),
      ),
    ),
  );
}

/** Long enough for a busy machine and shorter than the handler's timeout. */
export const TERMINATION_LOCK_TIMEOUT_MS = 20_000;
const terminateTransaction = {
  name: 'terminate rental',
  isolation: readCommitted,
  retryForMs: TERMINATION_LOCK_TIMEOUT_MS,
} as const;

interface RouteReply<Body> {
  readonly body: Body;
  readonly resource: { readonly kind: string; readonly id: string };
}

const resourceOf = (wireId: number) => ({ kind: 'rental', id: String(wireId) });

async function terminateReply(
  tx: Tx,
  context: RequestContext,
  { rentalId, reason }: { readonly rentalId: number; readonly reason?: string | undefined },
  kind: RentalKind,
): Promise<RouteReply<WireReceipt>> {
  return receiptReply(await terminateOwnRental(tx, callContextOf(context), { rentalId, kind, reason }));
}

type TenantActionWork = Parameters<typeof runTenantAction>[3];

async function runAction(
  tx: Tx,
  context: RequestContext,
  request: {
    readonly rentalId: number;
    readonly action: TenantAction;
    readonly parameters: Readonly<Record<string, unknown>>;
  },
  work: (
    view: Parameters<TenantActionWork>[0],
    by: Parameters<typeof extendTerm>[3],
  ) => ReturnType<TenantActionWork>,
): Promise<RouteReply<WireRental>> {
  const call = callContextOf(context);
  const record = await runTenantAction(tx, call, request, (view, { key }) =>
    work(view, { actor: call.cause.actor, limits: key.limits }),
  );
  return { body: toWireRental(record, tx.clock.now()), resource: resourceOf(request.rentalId) };
}

function receiptReply(receipt: Receipt): RouteReply<WireReceipt> {
  const { rental, commitment } = receipt;
  const isOver = rental.status === 'Terminated';
  return {
    body: {
      message: `Rental ${rental.wireId} ${isOver ? 'has ended' : 'is being terminated'}; billing has stopped.`,
      rentalId: rental.wireId,
      status: rental.status,
      billingStoppedAt: receipt.billingStoppedAt?.toISOString() ?? null,
      finalCost: toWireAmount(receipt.finalCost),
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
