import type { OrgId, SupplierId } from '@millrace/platform/ids';
import type { Ppm } from '@millrace/platform/money';

export type SupplierStatus = 'applied' | 'approved' | 'rejected' | 'suspended';
export type EnrolmentStage = 'trusting' | 'inspecting' | 'testing' | 'enrolled' | 'refused' | 'withdrawn';

export interface Supplier {
  readonly id: SupplierId;
  readonly orgId: OrgId;
  readonly name: string;
  readonly about: string;
  readonly status: SupplierStatus;
  readonly statusReason: string | null;
  /** The operator's part of each charge. Rentals keep the fee of their start. */
  readonly feePpm: Ppm;
  readonly appliedAt: Date;
  readonly approvedAt: Date | null;
}

export type ReviewDecision = 'approve' | 'reject';

const statusAfterDecision: Readonly<
  Record<ReviewDecision, Readonly<Record<SupplierStatus, SupplierStatus>>>
> = {
  approve: { applied: 'approved', rejected: 'approved', suspended: 'approved', approved: 'approved' },
  // A supplier that was approved before has machines, tenants and money here, so it is suspended instead of rejected.
  reject: { applied: 'rejected', rejected: 'rejected', suspended: 'suspended', approved: 'suspended' },
};

export function statusAfter(status: SupplierStatus, decision: ReviewDecision): SupplierStatus {
  return statusAfterDecision[decision][status];
}
