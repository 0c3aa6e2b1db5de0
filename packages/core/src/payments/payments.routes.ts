import type { ResponseBody, Contract } from '@millrace/contract';
import type { Db } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import { reply, requirePrincipal, type HttpServer } from '@millrace/platform/http';
import { parseId, type PaymentId } from '@millrace/platform/ids';
import { toCents } from '@millrace/platform/money';
import { callContextOf, pageById, positionFromCursor, readCommitted } from '../identity/index.ts';
import type { Payment } from './payment.ts';
import type { Payments } from './payments.service.ts';
import { findPayment, listPayments } from './payments.store.ts';

type Operations = Contract['operations'];

export interface PaymentRoutes {
  readonly server: HttpServer;
  readonly operations: Operations;
  readonly db: Db;
  readonly payments: Payments;
}

export function servePayments({ server, operations, db, payments }: PaymentRoutes): void {
  server.serve(operations.createTopUp, async ({ body, context, transact }) => {
    const { orgId, mode } = requirePrincipal(context);
    payments.requireAvailable(body);
    const started = await transact({ name: 'start top-up', isolation: readCommitted }, async (tx) => {
      const payment = await payments.start(tx, callContextOf(context), body);
      return { body: toWireTopUp(payment), resource: { kind: 'payment', id: payment.id } };
    });
    // A repeated request returns the current payment, because the first request may have failed to open the checkout.
    const payment = await payments.openCheckout(orgId, mode, requirePaymentId(started.body.paymentId));
    return reply(toWireTopUp(payment), started.headers);
  });

  server.serve(operations.listTopUps, async ({ query, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const { limit } = query;
    const after = positionFromCursor('pay', query.cursor);
    const rows = await listPayments(db, orgId, mode, { limit, after });
    return pageById(rows, limit, toWireTopUp);
  });

  server.serve(operations.getTopUp, async ({ params, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const payment = await findPayment(db, orgId, mode, requirePaymentId(params.paymentId));
    if (payment === null) throw new Fault('TOP_UP_NOT_FOUND');
    return toWireTopUp(payment);
  });

  server.serve(operations.receiveStripeEvent, async ({ body, context }) => {
    await payments.receive(body, context.header('stripe-signature'));
    return { received: true as const };
  });
}

function requirePaymentId(text: string): PaymentId {
  const id = parseId('pay', text);
  if (id === null) throw new Fault('TOP_UP_NOT_FOUND');
  return id;
}

function toWireTopUp(payment: Payment): ResponseBody<Operations['getTopUp']> {
  return {
    paymentId: payment.id,
    state: payment.state,
    amountCents: Number(toCents(payment.amount, 'down')),
    amountNanoUsd: payment.amount.toString(),
    refundedNanoUsd: payment.refunded.toString(),
    checkoutUrl: payment.state === 'open' ? payment.checkoutUrl : null,
    createdAt: payment.createdAt.toISOString(),
    paidAt: payment.paidAt?.toISOString() ?? null,
  };
}
