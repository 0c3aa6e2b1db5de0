import type { OrgId, SupplierId } from '@millrace/platform/ids';
import type { Ppm } from '@millrace/platform/money';

/** Organisations that supply machines. Pure. */

export type SupplierStatus = 'applied' | 'approved' | 'rejected' | 'suspended';
export type EnrolmentStage = 'trusting' | 'inspecting' | 'testing' | 'enrolled' | 'refused' | 'withdrawn';

export interface Supplier {
  readonly id: SupplierId;
  readonly orgId: OrgId;
  readonly name: string;
  readonly about: string;
  readonly status: SupplierStatus;
  /** What the operator said when the status was last changed. */
  readonly statusReason: string | null;
  /** The operator's part of each charge. What is rented keeps the fee that it was rented with. */
  readonly feePpm: Ppm;
  readonly appliedAt: Date;
  readonly approvedAt: Date | null;
}

/** What an operator can say of a supplier. */
export type ReviewDecision = 'approve' | 'reject';

const statusAfterDecision: Readonly<
  Record<ReviewDecision, Readonly<Record<SupplierStatus, SupplierStatus>>>
> = {
  approve: { applied: 'approved', rejected: 'approved', suspended: 'approved', approved: 'approved' },
  // Who was approved before has machines, tenants and money here: it is suspended, never as if it had not been.
  reject: { applied: 'rejected', rejected: 'rejected', suspended: 'suspended', approved: 'suspended' },
};

export function statusAfter(status: SupplierStatus, decision: ReviewDecision): SupplierStatus {
  return statusAfterDecision[decision][status];
}
