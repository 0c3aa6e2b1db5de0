import type { Contract } from '@millrace/contract';
import type { Db } from '@millrace/platform/db';
import { Fault, invalidField } from '@millrace/platform/fault';
import { requirePrincipal, type HttpServer } from '@millrace/platform/http';
import { parseId } from '@millrace/platform/ids';
import { fromPercentage, secondsToMs } from '@millrace/platform/money';
import {
  callContextOf,
  operatorAuditContext,
  pageById,
  positionFromCursor,
  readCommitted,
  type PublishKeyChange,
} from '../../identity/index.ts';
import { createJoinToken, revokeJoinToken } from './join-tokens.service.ts';
import { listJoinTokens } from './join-tokens.store.ts';
import { applyAsSupplier, reviewSupplier, type SupplierReview } from './suppliers.service.ts';
import { findSupplierOf, listSuppliers } from './suppliers.store.ts';
import { toWireSupplier, toWireJoinToken } from './suppliers.wire.ts';

export interface SupplierRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  /** Invalidates cached keys after an organisation became a supplier. */
  readonly announce: PublishKeyChange;
  readonly providerId: string;
}

export function serveSuppliers(routes: SupplierRoutes): void {
  serveAccount(routes);
  serveJoinTokens(routes);
  serveSupplierReviews(routes);
}

function serveAccount({ server, operations, db }: SupplierRoutes): void {
  server.serve(operations.supplierApply, ({ body, context, transact }) =>
    transact({ name: 'apply to supply', isolation: readCommitted }, async (tx) => {
      const supplier = await applyAsSupplier(tx, callContextOf(context), body);
      return { body: toWireSupplier(supplier), resource: { kind: 'supplier', id: supplier.id } };
    }),
  );

  server.serve(operations.supplierGetAccount, async ({ context }) => {
    const supplier = await findSupplierOf(db, requirePrincipal(context).orgId);
    if (supplier === null) {
      throw new Fault('SUPPLIER_NOT_FOUND', {
        message: 'This organisation has not applied to be a supplier.',
        suggestion: 'Apply with POST /v2/supplier/application.',
      });
    }
    return toWireSupplier(supplier);
  });
}

function serveJoinTokens({ server, operations, db, providerId }: SupplierRoutes): void {
  server.serve(operations.supplierListJoinTokens, async ({ query: { limit, cursor }, context }) => {
    const { orgId } = requirePrincipal(context);
    const rows = await listJoinTokens(db, orgId, { limit, after: positionFromCursor('jtk', cursor) });
    return pageById(rows, limit, toWireJoinToken);
  });

  server.serve(operations.supplierCreateJoinToken, ({ body, context, transact }) =>
    transact({ name: 'create join token', isolation: readCommitted }, async (tx) => {
      const { ttlSeconds, ...fields } = body;
      const expiresAt = new Date(tx.clock.nowMs() + secondsToMs(ttlSeconds));
      const call = callContextOf(context);
      const { token, text } = await createJoinToken(tx, call, { ...fields, expiresAt }, providerId);
      const resource = { kind: 'join-token', id: token.id };
      return { body: { ...toWireJoinToken(token), token: text }, resource };
    }),
  );

  server.serve(operations.supplierRevokeJoinToken, ({ params, context, transact }) =>
    transact({ name: 'revoke join token', isolation: readCommitted }, async (tx) => {
      const id = parseId('jtk', params.joinTokenId);
      if (id === null) throw new Fault('JOIN_TOKEN_NOT_FOUND');
      await revokeJoinToken(tx, callContextOf(context), id);
      return { body: undefined };
    }),
  );
}

function serveSupplierReviews({ server, operations, db, announce }: SupplierRoutes): void {
  server.serve(operations.adminListSuppliers, async ({ query }) => {
    const { limit, status = null } = query;
    const page = { limit, after: positionFromCursor('sup', query.cursor) };
    const rows = await listSuppliers(db, { status }, page);
    return pageById(rows, limit, toWireSupplier);
  });

  server.serve(operations.adminApproveSupplier, ({ params, body, context, transact }) =>
    transact({ name: 'approve supplier', isolation: readCommitted }, (tx) => {
      const feePpm = fromPercentage(body.feePercentage);
      if (feePpm === null) throw invalidField(['feePercentage'], 'must have at most four decimals');
      return applyReview(tx, params.supplierId, { reason: body.reason, feePpm }, context);
    }),
  );

  server.serve(operations.adminRejectSupplier, ({ params, body, context, transact }) =>
    transact({ name: 'reject supplier', isolation: readCommitted }, (tx) =>
      applyReview(tx, params.supplierId, { reason: body.reason, feePpm: null }, context),
    ),
  );

  async function applyReview(
    tx: Parameters<typeof reviewSupplier>[0],
    text: string,
    review: SupplierReview,
    context: Parameters<typeof operatorAuditContext>[0],
  ) {
    const id = parseId('sup', text);
    if (id === null) throw new Fault('SUPPLIER_NOT_FOUND');
    const supplier = await reviewSupplier(tx, { announce }, operatorAuditContext(context), id, review);
    return { body: toWireSupplier(supplier), resource: { kind: 'supplier', id } };
  }
}
