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

/** What happened: the audit log, and what became of a request. */

export const auditEntry = z
  .object({
    id: auditId,
    organisationId: organisationId
      .nullable()
      .meta({ description: 'Null for acts on the installation itself.' }),
    occurredAt: timestamp,
    action: z
      .string()
      .max(100)
      .meta({ examples: ['key.created', 'member.removed'] }),
    actor,
    resource: resourceRef.nullable(),
    requestId: requestId.nullable(),
    ip: z.string().max(45).nullable(),
    reason: z.string().nullable().meta({ description: 'What the actor gave as the reason.' }),
    details: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'AuditEntry' });

export const auditQuery = pageQuery.extend({
  action: z.string().min(1).max(100).optional(),
  actorId: z.string().min(1).max(100).optional(),
  resourceId: z.string().min(1).max(100).optional(),
});

const operationRecord = z
  .object({
    id: operationRecordId,
    idempotencyKey: z.string().max(255),
    operationId: z
      .string()
      .max(100)
      .meta({ description: 'Which operation was called.', examples: ['createApiKey'] }),
    status: z.enum(['running', 'succeeded', 'failed']).meta({
      description:
        '`succeeded` once the request was carried out; `running` or `failed` tell of work that goes on after the answer. A refused request leaves no record.',
    }),
    httpStatus: z
      .number()
      .int()
      .meta({ description: 'The status that was answered, and that a replay answers.' }),
    resource: resourceRef.nullable().meta({ description: 'What the operation made or changed.' }),
    createdAt: timestamp,
    expiresAt: timestamp.meta({ description: 'When the idempotency key is forgotten.' }),
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
    summary: 'What became of a request, by its record',
    tags: ['operations'],
    params: z.object({ operationId: operationRecordId }),
    response: { status: 200, schema: operationRecord },
    notFoundReason: 'OPERATION_NOT_FOUND',
  }),
  findOperation: v2Operation('GET /v2/operations', {
    scope: 'operations:read',
    summary: 'What became of a request, by its idempotency key',
    description:
      'Nothing known of a key answers 404: the request never arrived, was refused, or is older than 30 days.',
    tags: ['operations'],
    query: z.object({ idempotencyKey: z.string().min(1).max(255) }),
    response: { status: 200, schema: operationRecord },
    notFoundReason: 'OPERATION_NOT_FOUND',
  }),
} as const;
