import { z } from 'zod';
import {
  actor,
  auditId,
  operationRecordId,
  organisationId,
  v2Operation,
  pageOf,
  pageQuery,
  requestId,
  resourceRef,
  timestamp,
} from '../../operation-builders.ts';
import { periodQuery } from './billing.ts';

/** The audit log, and the results of requests. */

export const auditEntry = z
  .object({
    id: auditId,
    organisationId: organisationId
      .nullable()
      .meta({ description: 'Null for changes of the installation itself.' }),
    occurredAt: timestamp,
    action: z
      .string()
      .max(100)
      .meta({ examples: ['key.created', 'member.removed'] }),
    actor,
    resource: resourceRef.nullable(),
    requestId: requestId.nullable(),
    ip: z.string().max(45).nullable(),
    reason: z.string().nullable().meta({ description: 'The reason that the actor gave.' }),
    details: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'AuditEntry' });

export const auditQuery = pageQuery.extend({
  action: z.string().min(1).max(100).optional(),
  actorId: z.string().min(1).max(100).optional(),
  resourceId: z.string().min(1).max(100).optional(),
  ...periodQuery,
});

const operationRecord = z
  .object({
    id: operationRecordId,
    idempotencyKey: z.string().max(255),
    operationId: z
      .string()
      .max(100)
      .meta({ description: 'The operation that was called.', examples: ['createApiKey'] }),
    status: z.enum(['running', 'succeeded', 'failed']).meta({
      description:
        '`succeeded` when the request was executed; `running` or `failed` for work that continues after the response. A refused request leaves no record.',
    }),
    httpStatus: z.number().int().meta({ description: 'The status of the response, also on a replay.' }),
    resource: resourceRef
      .nullable()
      .meta({ description: 'The resource that the operation created or changed.' }),
    createdAt: timestamp,
    expiresAt: timestamp.meta({ description: 'When the idempotency key expires.' }),
  })
  .meta({ id: 'OperationRecord' });

export const auditOperations = {
  listAuditLog: v2Operation('GET /v2/audit-log', {
    scope: 'audit:read',
    summary: 'Read the audit log, newest first',
    tags: ['audit-log'],
    query: auditQuery,
    response: { status: 200, schema: pageOf(auditEntry) },
  }),
  getOperation: v2Operation('GET /v2/operations/{operationId}', {
    scope: 'operations:read',
    summary: 'Read the result of a request by its record',
    tags: ['operations'],
    params: z.object({ operationId: operationRecordId }),
    response: { status: 200, schema: operationRecord },
    notFoundReason: 'OPERATION_NOT_FOUND',
  }),
  findOperation: v2Operation('GET /v2/operations', {
    scope: 'operations:read',
    summary: 'Find the result of a request by its idempotency key',
    description: 'An unknown key gets 404: the request never arrived, was refused, or is older than 30 days.',
    tags: ['operations'],
    query: z.object({ idempotencyKey: z.string().min(1).max(255) }),
    response: { status: 200, schema: operationRecord },
    notFoundReason: 'OPERATION_NOT_FOUND',
  }),
} as const;
