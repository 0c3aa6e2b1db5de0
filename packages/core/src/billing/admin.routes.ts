import { Fault } from '@millrace/platform/fault';
import { parseId, type OrgId, type TransferId } from '@millrace/platform/ids';
import {
  findAuditReasons,
  findOrganisation,
  operatorCauseOf,
  pageOf,
  positionIn,
  readCommitted,
} from '../identity/index.ts';
import { listAllTransfers, readBalance, type TransferRecord } from '../ledger/index.ts';
import { requireActAmount, requireAmount } from './amounts.ts';
import { toWireAdminBalance, toWireAdminTransfer } from './billing.wire.ts';
import { adjust, allowOverdraft, grant, refund, reverse, unfreeze } from './money-tools.service.ts';
import { periodOf, type BillingRoutes } from './route-kit.ts';

const DEFAULT_PROMO_PRIORITY = 100;

/** Operators: what moves money by hand. */
export function serveMoneyTools({ server, operations, burnOf }: BillingRoutes): void {
  server.serve(operations.adminGrant, ({ params, body, context, transact }) =>
    transact({ name: 'grant', isolation: readCommitted }, async (tx) => {
      const { reason } = body;
      const promo = promoOf(body, tx.clock.now());
      const transfer = await grant(tx, operatorCauseOf(context), requireOrgId(params.organisationId), {
        amount: requireActAmount(body.amountNanoUsd, 'amountNanoUsd'),
        ...(promo === null ? {} : { promo }),
        reason,
        burnOf,
      });
      return effectOf(transfer, reason);
    }),
  );

  server.serve(operations.adminAdjust, ({ params, body, context, transact }) =>
    transact({ name: 'adjust', isolation: readCommitted }, async (tx) => {
      const { reason } = body;
      const amount = requireActAmount(body.amountNanoUsd, 'amountNanoUsd');
      const orgId = requireOrgId(params.organisationId);
      return effectOf(await adjust(tx, operatorCauseOf(context), orgId, { amount, reason }), reason);
    }),
  );

  server.serve(operations.adminRefund, ({ params, body, context, transact }) =>
    transact({ name: 'refund', isolation: readCommitted }, async (tx) => {
      const { amountNanoUsd, reason } = body;
      const orgId = parseId('org', params.organisationId);
      if (orgId === null) throw new Fault('TRANSFER_NOT_FOUND');
      const wish = {
        transferId: requireTransferId(body.transferId),
        ...(amountNanoUsd === undefined ? {} : { amount: requireAmount(amountNanoUsd, 'amountNanoUsd') }),
        reason,
      };
      return effectOf(await refund(tx, operatorCauseOf(context), orgId, wish), reason);
    }),
  );

  server.serve(operations.adminReverse, ({ params, body, context, transact }) =>
    transact({ name: 'reverse', isolation: readCommitted }, async (tx) => {
      const id = requireTransferId(params.transferId);
      return effectOf(await reverse(tx, operatorCauseOf(context), id, body), body.reason);
    }),
  );

  server.serve(operations.adminSetOverdraft, ({ params, body, context, transact }) =>
    transact({ name: 'set overdraft', isolation: readCommitted }, async (tx) => {
      const orgId = requireOrgId(params.organisationId);
      const overdraft = requireActAmount(body.maxOverdraftNanoUsd, 'maxOverdraftNanoUsd');
      const wish = { overdraft, reason: body.reason };
      const balance = await allowOverdraft(tx, operatorCauseOf(context), orgId, wish);
      return { body: toWireAdminBalance(orgId, balance) };
    }),
  );

  server.serve(operations.adminUnfreeze, ({ params, body, context, transact }) =>
    transact({ name: 'unfreeze', isolation: readCommitted }, async (tx) => {
      const orgId = requireOrgId(params.organisationId);
      const balance = await unfreeze(tx, operatorCauseOf(context), orgId, body);
      return { body: toWireAdminBalance(orgId, balance), resource: { kind: 'balance', id: orgId } };
    }),
  );
}

/** Operators: what everybody has, and every movement of it, with the reason where a person gave one. */
export function serveTransfers({ server, operations, db }: BillingRoutes): void {
  server.serve(operations.adminGetBalance, async ({ params }) => {
    const orgId = requireOrgId(params.organisationId);
    if ((await findOrganisation(db, orgId)) === null) throw new Fault('ORGANISATION_NOT_FOUND');
    return toWireAdminBalance(orgId, await readBalance(db, orgId, 'live', db.clock.now()));
  });

  server.serve(operations.adminListTransfers, async ({ query }) => {
    const { limit, kind, organisationId } = query;
    const filter = {
      ...periodOf(query),
      ...(kind === undefined ? {} : { kind }),
      ...(organisationId === undefined ? {} : { orgId: requireOrgId(organisationId) }),
    };
    const rows = await listAllTransfers(db, filter, { limit, after: positionIn('trf', query.cursor) });
    const ids = rows.map((row) => row.id);
    const reasons = await findAuditReasons(db, 'transfer', ids);
    return pageOf(rows, limit, (row) => toWireAdminTransfer(row, reasons.get(row.id) ?? null));
  });
}

function effectOf(transfer: TransferRecord, reason: string) {
  return { body: toWireAdminTransfer(transfer, reason), resource: { kind: 'transfer', id: transfer.id } };
}

/** Credit with an expiry or a priority is promotional; without either it is as good as paid. */
function promoOf(
  body: { readonly expiresAt?: string | undefined; readonly priority?: number | undefined },
  now: Date,
): { readonly priority: number; readonly expiresAt: Date | null } | null {
  if (body.expiresAt === undefined && body.priority === undefined) return null;
  const expiresAt = body.expiresAt === undefined ? null : new Date(body.expiresAt);
  if (expiresAt !== null && expiresAt <= now) {
    const issue = { message: 'must be in the future', path: ['expiresAt'], code: 'in_the_past' };
    throw new Fault('VALIDATION_FAILED', { issues: [issue] });
  }
  return { priority: body.priority ?? DEFAULT_PROMO_PRIORITY, expiresAt };
}

function requireOrgId(text: string): OrgId {
  const id = parseId('org', text);
  if (id === null) throw new Fault('ORGANISATION_NOT_FOUND');
  return id;
}

function requireTransferId(text: string): TransferId {
  const id = parseId('trf', text);
  if (id === null) throw new Fault('TRANSFER_NOT_FOUND');
  return id;
}
