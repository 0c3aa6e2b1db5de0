import { z } from 'zod';
import { admin, auditReason, page, pageQuery } from './own-kit.ts';
import {
  payout,
  supplierAccount,
  supplierId,
  supplierMachine,
  supplierMachineParams,
} from './own-supplier.ts';

/** Operators: who may be a supplier, which machines are shown, and what has been paid out. */

const approval = {
  method: 'POST',
  scope: 'admin:write',
  tags: ['suppliers'],
  idempotency: 'key',
} as const;

const approvalBody = z.object({ reason: auditReason }).meta({ id: 'Approval' });
const supplierParams = z.object({ supplierId });

export const adminSupplierOperations = {
  adminListSuppliers: admin({
    id: 'adminListSuppliers',
    method: 'GET',
    path: '/v2/admin/suppliers',
    scope: 'admin:read',
    summary: 'List suppliers and applications',
    tags: ['suppliers'],
    query: pageQuery.extend({ status: supplierAccount.shape.status.optional() }),
    response: { status: 200, schema: page(supplierAccount) },
    idempotency: 'none',
  }),
  adminApproveSupplier: admin({
    ...approval,
    id: 'adminApproveSupplier',
    path: '/v2/admin/suppliers/{supplierId}/approve',
    summary: 'Approve a supplier',
    params: supplierParams,
    body: approvalBody.extend({ feePercentage: z.number().min(0).max(100) }).meta({ id: 'SupplierApproval' }),
    response: { status: 200, schema: supplierAccount },
    refuses: [404],
    notFoundReason: 'SUPPLIER_NOT_FOUND',
  }),
  adminRejectSupplier: admin({
    ...approval,
    id: 'adminRejectSupplier',
    path: '/v2/admin/suppliers/{supplierId}/reject',
    summary: 'Reject an application, or end a supplier’s approval',
    params: supplierParams,
    body: approvalBody,
    response: { status: 200, schema: supplierAccount },
    refuses: [404],
    notFoundReason: 'SUPPLIER_NOT_FOUND',
  }),
  adminApproveMachine: admin({
    ...approval,
    id: 'adminApproveMachine',
    path: '/v2/admin/machines/{machineId}/approve',
    summary: 'Approve a supplier’s machine for the marketplace',
    params: supplierMachineParams,
    body: approvalBody,
    response: { status: 200, schema: supplierMachine },
    refuses: [404],
    notFoundReason: 'MACHINE_NOT_FOUND',
  }),
  adminRejectMachine: admin({
    ...approval,
    id: 'adminRejectMachine',
    path: '/v2/admin/machines/{machineId}/reject',
    summary: 'Refuse a supplier’s machine',
    params: supplierMachineParams,
    body: approvalBody,
    response: { status: 200, schema: supplierMachine },
    refuses: [404],
    notFoundReason: 'MACHINE_NOT_FOUND',
  }),
  adminSettlePayout: admin({
    ...approval,
    id: 'adminSettlePayout',
    path: '/v2/admin/payouts/{payoutId}/settle',
    scope: 'admin:money',
    summary: 'Record a payout as paid, or reject it',
    params: z.object({ payoutId: payout.shape.id }),
    body: z
      .object({
        outcome: z.enum(['paid', 'rejected']),
        reference: z.string().trim().max(255).nullable().default(null),
        reason: auditReason,
      })
      .meta({ id: 'PayoutSettlement' }),
    response: { status: 200, schema: payout },
    refuses: [404],
    notFoundReason: 'PAYOUT_NOT_FOUND',
  }),
} as const;
