import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import {
  appendAuditEntry,
  authorizeCaller,
  authorizeTermination,
  type AuditContext,
  type AuthorizedCaller,
  type CallContext,
} from '../../identity/index.ts';
import { lockRentalView, terminateRental, type Receipt } from './termination.service.ts';
import { requireNotPrivateCloud } from '../order/private-cloud.service.ts';
import { readWrittenRecord } from '../read/rental-queries.service.ts';
import type { RentalRecord } from '../read/rental-record.ts';
import { rentalResourceOf, scopeOf, type Rental, type RentalKind, type RentalView } from '../model/rental.ts';
import { findAnyRental, findRentalByWireId } from '../model/rentals.store.ts';

/**
 * Executes actions of tenants and operators on rentals. Locks: organisation, rental, then the rest. A termination does not lock
 * the organisation, so that a slow request cannot delay it.
 */

/** Finds a rental of the caller in the mode of its key. Absent, foreign and wrong-kind rentals give the same fault. */
async function requireOwnRental(
  tx: Tx,
  call: CallContext,
  wireId: number,
  kinds: readonly [RentalKind, ...RentalKind[]],
  enter = authorizeCaller,
): Promise<AuthorizedCaller & { readonly rental: Rental }> {
  const caller = await enter(tx, call, scopeOf(kinds[0]));
  const rental = await findRentalByWireId(tx, call.orgId, caller.key.mode, wireId);
  if (rental === null || !kinds.includes(rental.kind)) throw new Fault('RENTAL_NOT_FOUND');
  return { ...caller, rental };
}

export interface TerminateRentalRequest {
  readonly rentalId: number;
  readonly kind: RentalKind;
  readonly reason: string | undefined;
}

export async function terminateOwnRental(
  tx: Tx,
  call: CallContext,
  request: TerminateRentalRequest,
): Promise<Receipt> {
  const { rental } = await requireOwnRental(tx, call, request.rentalId, [request.kind], authorizeTermination);
  requireNotPrivateCloud(rental);
  const reason = request.reason || 'Terminated by the tenant.';
  const receipt = await terminateRental(tx, call.orgId, rental.id, { actor: call.cause.actor, reason });
  await auditTermination(tx, call.cause, rental, { receipt, reason });
  return receipt;
}

/** Waives the remaining term, because the tenant did not choose the end. The reason is only for the audit log. */
export async function terminateAnyRental(
  tx: Tx,
  cause: AuditContext,
  request: { readonly rentalId: number; readonly reason: string },
): Promise<Receipt> {
  const rental = await findAnyRental(tx, request.rentalId);
  if (rental === null) throw new Fault('RENTAL_NOT_FOUND');
  const receipt = await terminateRental(tx, rental.orgId, rental.id, {
    actor: cause.actor,
    reason: 'Terminated by the operator.',
    rest: 'waived',
  });
  await auditTermination(tx, cause, rental, { receipt, reason: request.reason });
  return receipt;
}

/** A repeated termination changed nothing and is not audited again. */
async function auditTermination(
  tx: Tx,
  cause: AuditContext,
  before: Rental,
  { receipt, reason }: { readonly receipt: Receipt; readonly reason: string },
): Promise<void> {
  if (receipt.rental.transitions === before.transitions) return;
  const resource = rentalResourceOf(before);
  await appendAuditEntry(tx, before.orgId, cause, {
    action: `${resource.kind}.terminated`,
    resource,
    before: { status: before.status },
    after: { status: receipt.rental.status, finalCostNanoUsd: String(receipt.finalCost) },
    reason,
  });
}

export type TenantAction = 'start' | 'stop' | 'reboot' | 'extend';

export async function runTenantAction(
  tx: Tx,
  call: CallContext,
  request: {
    readonly rentalId: number;
    readonly action: TenantAction;
    readonly parameters: Readonly<Record<string, unknown>>;
  },
  work: (view: RentalView, caller: AuthorizedCaller) => Promise<Rental>,
): Promise<RentalRecord> {
  const caller = await requireOwnRental(tx, call, request.rentalId, ['virtual-machine', 'bare-metal']);
  requireNotPrivateCloud(caller.rental);
  const view = await lockRentalView(tx, call.orgId, caller.rental.id);
  const after = await work(view, caller);
  if (after.version !== view.rental.version) {
    await appendAuditEntry(tx, call.orgId, call.cause, {
      action: `rental.${request.action}`,
      resource: { kind: 'rental', id: String(request.rentalId) },
      after: request.parameters,
    });
  }
  return readWrittenRecord(tx, { orgId: call.orgId, mode: caller.key.mode }, request.rentalId);
}
