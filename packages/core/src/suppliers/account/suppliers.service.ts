import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { OrgId, SupplierId } from '@millrace/platform/ids';
import type { Ppm } from '@millrace/platform/money';
import {
  appendAuditEntry,
  authorizeCaller,
  lockOrganisation,
  markSupplier,
  type PublishKeyChange,
  type AuditContext,
  type CallContext,
} from '../../identity/index.ts';
import { statusAfter, type Supplier } from './suppliers.ts';
import {
  findSupplier,
  shareLockSupplierOf,
  insertSupplier,
  lockSupplierOf,
  renewApplication,
  setSupplierStatus,
  type SupplierApplication,
} from './suppliers.store.ts';

/** Applications and reviews of suppliers. Lock order: organisation, supplier. */

export async function applyAsSupplier(
  tx: Tx,
  call: CallContext,
  application: SupplierApplication,
): Promise<Supplier> {
  await authorizeCaller(tx, call, 'organisation:write');
  const known = await lockSupplierOf(tx, call.orgId);
  if (known !== null && known.status !== 'rejected') {
    throw new Fault('SUPPLIER_EXISTS', {
      message: `This organisation has already applied to be a supplier. Its status is ${known.status}.`,
    });
  }
  const supplier =
    known === null
      ? await insertSupplier(tx, call.orgId, application)
      : await renewApplication(tx, call.orgId, application);
  await appendAuditEntry(tx, call.orgId, call.cause, {
    action: 'supplier.applied',
    resource: { kind: 'supplier', id: supplier.id },
    after: { name: supplier.name, about: supplier.about },
  });
  return supplier;
}

export interface SupplierReview {
  readonly reason: string;
  /** The operator's part of each charge from now on; null for a rejection, which keeps the present fee. */
  readonly feePpm: Ppm | null;
}

/**
 * An approval gives the organisation's owners and admins supplier scopes permanently: a suspended supplier must still
 * see its machines and money. A suspension ends the listing: from its commit on, none of its machines is for rent.
 */
export async function reviewSupplier(
  tx: Tx,
  deps: { readonly announce: PublishKeyChange },
  cause: AuditContext,
  id: SupplierId,
  review: SupplierReview,
): Promise<Supplier> {
  const orgId = (await findSupplier(tx, id))?.orgId;
  if (orgId === undefined) throw new Fault('SUPPLIER_NOT_FOUND');
  await lockOrganisation(tx, orgId);
  const before = await lockSupplierOf(tx, orgId);
  if (before === null) throw new Fault('SUPPLIER_NOT_FOUND');
  const { reason, feePpm } = review;
  const status = statusAfter(before.status, feePpm === null ? 'reject' : 'approve');
  const approvedAt = before.approvedAt ?? (status === 'approved' ? tx.clock.now() : null);
  const after = await setSupplierStatus(tx, orgId, { status, reason, feePpm, approvedAt });
  if (status === 'approved') {
    await markSupplier(tx, orgId);
    tx.afterCommit(() => deps.announce({ kind: 'organisation', orgId }));
  }
  await appendAuditEntry(tx, orgId, cause, {
    action: `supplier.${status}`,
    resource: { kind: 'supplier', id },
    before: { status: before.status, feePpm: before.feePpm },
    after: { status: after.status, feePpm: after.feePpm },
    reason,
  });
  return after;
}

/** The organisation's supplier, which stays approved until the transaction ends. */
export async function requireApprovedSupplier(tx: Tx, orgId: OrgId): Promise<Supplier> {
  const supplier = await shareLockSupplierOf(tx, orgId);
  if (supplier?.status === 'approved') return supplier;
  throw new Fault('SUPPLIER_NOT_APPROVED', {
    ...(supplier === null
      ? {}
      : { message: `This supplier account is ${supplier.status}. Only an approved supplier can do this.` }),
  });
}
