import { z } from 'zod';
import { adminPayoutOperations } from './payouts.ts';
import { adminOperation, auditReason, pageOf, pageQuery } from '../../operation-builders.ts';
import { supplierAccount, supplierId, supplierMachine, supplierMachineParams } from '../supplier/machines.ts';

/** Operators: who may be a supplier, which machines are shown, and what has been paid out. */

const approval = {
  scope: 'admin:write',
  tags: ['suppliers'],
  idempotency: 'key',
} as const;

const approvalBody = z.object({ reason: auditReason }).meta({ id: 'Approval' });
const supplierParams = z.object({ supplierId });

export const adminSupplierOperations = {
  adminListSuppliers: adminOperation('GET /v2/admin/suppliers', {
    scope: 'admin:read',
    summary: 'List suppliers and applications',
    tags: ['suppliers'],
    query: pageQuery.extend({ status: supplierAccount.shape.status.optional() }),
    response: { status: 200, schema: pageOf(supplierAccount) },
  }),
  adminApproveSupplier: adminOperation('POST /v2/admin/suppliers/{supplierId}/approve', {
    ...approval,
    summary: 'Approve a supplier',
    params: supplierParams,
    description:
      'The fee counts for what is rented from now on. Approving again changes the fee, and ends a suspension.',
    body: approvalBody
      .extend({
        feePercentage: z
          .number()
          .min(0)
          .max(100)
          .meta({ description: 'What the operator keeps of each charge, with at most four decimals.' }),
      })
      .meta({ id: 'SupplierApproval' }),
    response: { status: 200, schema: supplierAccount },
    notFoundReason: 'SUPPLIER_NOT_FOUND',
  }),
  adminRejectSupplier: adminOperation('POST /v2/admin/suppliers/{supplierId}/reject', {
    ...approval,
    summary: 'Reject an application, or suspend a supplier that was approved',
    description: 'Nothing of a suspended supplier is shown or rented anew; what is rented goes on.',
    params: supplierParams,
    body: approvalBody,
    response: { status: 200, schema: supplierAccount },
    notFoundReason: 'SUPPLIER_NOT_FOUND',
  }),
  adminListMachines: adminOperation('GET /v2/admin/machines', {
    scope: 'admin:read',
    summary: 'List suppliers’ machines',
    tags: ['suppliers'],
    query: pageQuery.extend({
      approval: supplierMachine.shape.approval.optional(),
      supplierId: supplierId.optional(),
    }),
    response: { status: 200, schema: pageOf(supplierMachine) },
  }),
  adminApproveMachine: adminOperation('POST /v2/admin/machines/{machineId}/approve', {
    ...approval,
    summary: 'Approve a supplier’s machine for the marketplace',
    params: supplierMachineParams,
    body: approvalBody,
    response: { status: 200, schema: supplierMachine },
    notFoundReason: 'MACHINE_NOT_FOUND',
  }),
  adminRejectMachine: adminOperation('POST /v2/admin/machines/{machineId}/reject', {
    ...approval,
    summary: 'Refuse a supplier’s machine, also one that was approved',
    description: 'It is no longer shown or rented; what is rented on it goes on.',
    params: supplierMachineParams,
    body: approvalBody,
    response: { status: 200, schema: supplierMachine },
    notFoundReason: 'MACHINE_NOT_FOUND',
  }),
  ...adminPayoutOperations,
} as const;
