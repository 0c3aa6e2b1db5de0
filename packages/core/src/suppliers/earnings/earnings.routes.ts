import type { Contract } from '@millrace/contract';
import type { Db } from '@millrace/platform/db';
import { Fault, invalidField } from '@millrace/platform/fault';
import { requirePrincipal, type HttpServer } from '@millrace/platform/http';
import { parseId } from '@millrace/platform/ids';
import { parseNanoUsd, type NanoUsd } from '@millrace/platform/money';
import {
  callContextOf,
  operatorAuditContext,
  pageById,
  positionFromCursor,
  readCommitted,
} from '../../identity/index.ts';
import { readEarned, type TransferPeriod } from '../../ledger/index.ts';
import { sumSupplierAccrual } from '../../metering/index.ts';
import { earningsPeriod, PERIOD_DAYS_MAX } from './earnings.ts';
import { listDailyEarnings, sumMaturing } from './earnings.store.ts';
import {
  toWireAdminPayout,
  toWireEarnings,
  toWirePayout,
  toWireStatement,
  toWireStatementSummary,
} from './earnings.wire.ts';
import { requestPayout, settlePayout } from './payouts.service.ts';
import { listAllPayouts, listPayouts, sumPayouts } from './payouts.store.ts';
import { findStatement, listStatements } from './statements.store.ts';

export interface SupplierMoneyRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  /** How long earnings mature before they can be paid out. */
  readonly payoutHoldMs: number;
}

/** Only live keys have supplier scopes. */
export function serveSupplierMoney(routes: SupplierMoneyRoutes): void {
  serveEarnings(routes);
  serveStatements(routes);
  servePayouts(routes);
  servePayoutSettlement(routes);
}

function serveEarnings({ server, operations, db, payoutHoldMs }: SupplierMoneyRoutes): void {
  server.serve(operations.supplierGetEarnings, async ({ query, context }) => {
    const { orgId } = requirePrincipal(context);
    const now = db.clock.now();
    const period = requirePeriod(query, now);
    const [account, accrued, maturing, { paid: paidOut }, daily] = await Promise.all([
      readEarned(db, orgId, 'live'),
      sumSupplierAccrual(db, orgId, now),
      sumMaturing(db, orgId, { now, holdMs: payoutHoldMs }),
      sumPayouts(db, orgId),
      listDailyEarnings(db, orgId, period),
    ]);
    return toWireEarnings({ account, accrued, maturing, paidOut, period, daily });
  });
}

function serveStatements({ server, operations, db }: SupplierMoneyRoutes): void {
  server.serve(operations.supplierListStatements, async ({ query: { limit, cursor }, context }) => {
    const { orgId } = requirePrincipal(context);
    const after = positionFromCursor('stm', cursor);
    return pageById(await listStatements(db, orgId, { limit, after }), limit, toWireStatementSummary);
  });

  server.serve(operations.supplierGetStatement, async ({ params, context }) => {
    const { orgId } = requirePrincipal(context);
    const id = parseId('stm', params.statementId);
    const statement = id === null ? null : await findStatement(db, orgId, id);
    if (statement === null) throw new Fault('STATEMENT_NOT_FOUND');
    return toWireStatement(statement);
  });
}

function servePayouts({ server, operations, db, payoutHoldMs }: SupplierMoneyRoutes): void {
  server.serve(operations.supplierListPayouts, async ({ query: { limit, cursor }, context }) => {
    const { orgId } = requirePrincipal(context);
    const after = positionFromCursor('pyo', cursor);
    return pageById(await listPayouts(db, orgId, { limit, after }), limit, toWirePayout);
  });

  server.serve(operations.supplierRequestPayout, ({ body, context, transact }) =>
    transact({ name: 'request payout', isolation: readCommitted }, async (tx) => {
      const amount = requireNanoUsd(body.amountNanoUsd);
      const payout = await requestPayout(tx, callContextOf(context), amount, { holdMs: payoutHoldMs });
      return { body: toWirePayout(payout), resource: { kind: 'payout', id: payout.id } };
    }),
  );
}

function servePayoutSettlement({ server, operations, db }: SupplierMoneyRoutes): void {
  server.serve(operations.adminListPayouts, async ({ query: { limit, cursor, status } }) => {
    const after = positionFromCursor('pyo', cursor);
    const rows = await listAllPayouts(db, { status: status ?? null }, { limit, after });
    return pageById(rows, limit, toWireAdminPayout);
  });

  server.serve(operations.adminSettlePayout, ({ params, body, context, transact }) =>
    transact({ name: 'settle payout', isolation: readCommitted }, async (tx) => {
      const id = parseId('pyo', params.payoutId);
      if (id === null) throw new Fault('PAYOUT_NOT_FOUND');
      const payout = await settlePayout(tx, operatorAuditContext(context), id, body);
      return { body: toWireAdminPayout(payout), resource: { kind: 'payout', id } };
    }),
  );
}

function requirePeriod(
  query: { readonly from?: string | undefined; readonly until?: string | undefined },
  now: Date,
): TransferPeriod {
  const dateOf = (text: string | undefined): Date | null => (text === undefined ? null : new Date(text));
  const period = earningsPeriod({ from: dateOf(query.from), until: dateOf(query.until) }, now);
  if (period === 'ends before it begins') throw invalidField(['until'], 'must not be before from');
  if (period === 'too long')
    throw invalidField(['from'], `must be at most ${PERIOD_DAYS_MAX} days before until`);
  return period;
}

function requireNanoUsd(text: string): NanoUsd {
  const amount = parseNanoUsd(text);
  if (amount === null) throw invalidField(['amountNanoUsd'], 'is too large');
  return amount;
}
