import { z } from 'zod';
import { adminPayoutOperations } from './payouts.ts';
import { adminOperation, auditReason, pageOf, pageQuery } from '../../operation-builders.ts';
import { supplierAccount, supplierId, supplierMachine, supplierMachineParams } from '../supplier/machines.ts';

/** Operator operations: reviews of suppliers and their machines. */

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
    description: 'The fee applies to new rentals. Approving again changes the fee and lifts a suspension.',
    body: approvalBody
      .extend({
        feePercentage: z
          .number()
          .min(0)
          .max(100)
          .meta({ description: 'The operator’s share of each charge, with at most four decimals.' }),
      })
      .meta({ id: 'SupplierApproval' }),
    response: { status: 200, schema: supplierAccount },
    notFoundReason: 'SUPPLIER_NOT_FOUND',
  }),
  adminRejectSupplier: adminOperation('POST /v2/admin/suppliers/{supplierId}/reject', {
    ...approval,
    summary: 'Reject an application, or suspend an approved supplier',
    description:
      'Machines of a suspended supplier are not listed or rented anymore; existing rentals continue.',
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
    summary: 'Reject a supplier’s machine, including an approved one',
    description: 'It is not listed or rented anymore; existing rentals continue.',
    params: supplierMachineParams,
    body: approvalBody,
    response: { status: 200, schema: supplierMachine },
    notFoundReason: 'MACHINE_NOT_FOUND',
  }),
  ...adminPayoutOperations,
} as const;
