import { Fault } from '@millrace/platform/fault';
import { parseId, type OrgId, type TransferId } from '@millrace/platform/ids';
import {
  findAuditReasons,
  findOrganisation,
  operatorAuditContext,
  pageById,
  positionFromCursor,
  readCommitted,
} from '../identity/index.ts';
import { listAllTransfers, readBalance, type TransferRecord } from '../ledger/index.ts';
import { requireOperatorAmount, requireAmount } from './amounts.ts';
import { toWireAdminBalance, toWireAdminTransfer } from './billing.wire.ts';
import {
  adjustBalance,
  setMaxOverdraft,
  grantCredit,
  refundCharge,
  reverseTransfer,
  unfreezeAccount,
} from './operator-transfers.service.ts';
import { periodOf, type BillingRoutes } from './route-deps.ts';

const DEFAULT_PROMO_PRIORITY = 100;

/** Operator routes that move money. */
export function serveOperatorTransfers({ server, operations, burnOf }: BillingRoutes): void {
  server.serve(operations.adminGrant, ({ params, body, context, transact }) =>
    transact({ name: 'grant', isolation: readCommitted }, async (tx) => {
      const { reason } = body;
      const promo = parsePromo(body, tx.clock.now());
      const transfer = await grantCredit(
        tx,
        operatorAuditContext(context),
        requireOrgId(params.organisationId),
        {
          amount: requireOperatorAmount(body.amountNanoUsd, 'amountNanoUsd'),
          ...(promo === null ? {} : { promo }),
          reason,
          burnOf,
        },
      );
      return transferReply(transfer, reason);
    }),
  );

  server.serve(operations.adminAdjust, ({ params, body, context, transact }) =>
    transact({ name: 'adjust', isolation: readCommitted }, async (tx) => {
      const { reason } = body;
      const amount = requireOperatorAmount(body.amountNanoUsd, 'amountNanoUsd');
      const orgId = requireOrgId(params.organisationId);
      return transferReply(
        await adjustBalance(tx, operatorAuditContext(context), orgId, { amount, reason }),
        reason,
      );
    }),
  );

  server.serve(operations.adminRefund, ({ params, body, context, transact }) =>
    transact({ name: 'refund', isolation: readCommitted }, async (tx) => {
      const { amountNanoUsd, reason } = body;
      const orgId = parseId('org', params.organisationId);
      if (orgId === null) throw new Fault('TRANSFER_NOT_FOUND');
      const request = {
        transferId: requireTransferId(body.transferId),
        ...(amountNanoUsd === undefined ? {} : { amount: requireAmount(amountNanoUsd, 'amountNanoUsd') }),
        reason,
      };
      return transferReply(await refundCharge(tx, operatorAuditContext(context), orgId, request), reason);
    }),
  );

  server.serve(operations.adminReverse, ({ params, body, context, transact }) =>
    transact({ name: 'reverse', isolation: readCommitted }, async (tx) => {
      const id = requireTransferId(params.transferId);
      return transferReply(await reverseTransfer(tx, operatorAuditContext(context), id, body), body.reason);
    }),
  );

  server.serve(operations.adminSetOverdraft, ({ params, body, context, transact }) =>
    transact({ name: 'set overdraft', isolation: readCommitted }, async (tx) => {
      const orgId = requireOrgId(params.organisationId);
      const overdraft = requireOperatorAmount(body.maxOverdraftNanoUsd, 'maxOverdraftNanoUsd');
      const request = { overdraft, reason: body.reason };
      const balance = await setMaxOverdraft(tx, operatorAuditContext(context), orgId, request);
      return { body: toWireAdminBalance(orgId, balance) };
    }),
  );

  server.serve(operations.adminUnfreeze, ({ params, body, context, transact }) =>
    transact({ name: 'unfreeze', isolation: readCommitted }, async (tx) => {
      const orgId = requireOrgId(params.organisationId);
      const balance = await unfreezeAccount(tx, operatorAuditContext(context), orgId, body);
      return { body: toWireAdminBalance(orgId, balance), resource: { kind: 'balance', id: orgId } };
    }),
  );
}

/** Operator routes that list balances and transfers, with the reason if an operator gave one. */
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
    const rows = await listAllTransfers(db, filter, {
      limit,
      after: positionFromCursor('trf', query.cursor),
    });
    const ids = rows.map((row) => row.id);
    const reasons = await findAuditReasons(db, 'transfer', ids);
    return pageById(rows, limit, (row) => toWireAdminTransfer(row, reasons.get(row.id) ?? null));
  });
}

function transferReply(transfer: TransferRecord, reason: string) {
  return { body: toWireAdminTransfer(transfer, reason), resource: { kind: 'transfer', id: transfer.id } };
}

/** Credit with an expiry or a priority is promotional; other grants count as paid credit. */
function parsePromo(
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
