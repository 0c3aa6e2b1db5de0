import { z } from 'zod';
import {
  adminOperation,
  auditReason,
  pageOf,
  pageQuery,
  prefixedId,
  timestamp,
} from '../../operation-builders.ts';
import { nodeId } from '../node-schemas.ts';

/** Operators: announced times in which nodes are away. */

const maintenanceId = prefixedId('mnt', 'a maintenance window');

const maintenanceStatus = z.enum(['announced', 'in_progress', 'completed', 'cancelled']);

const maintenance = z
  .object({
    id: maintenanceId,
    nodeIds: z.array(nodeId),
    startsAt: timestamp,
    endsAt: timestamp,
    summary: z.string(),
    status: maintenanceStatus,
    drainsAt: timestamp.meta({ description: 'From then on nothing new is placed on its nodes.' }),
    endedAt: timestamp.nullable().meta({
      description: 'When it was over: endsAt, or when it was called off. Before startsAt: it never began.',
    }),
    affectedRentalCount: z.int().nonnegative().meta({
      description: 'Rentals and instances whose organisations were told of it.',
    }),
    createdAt: timestamp,
  })
  .meta({ id: 'MaintenanceWindow' });

export const adminMaintenanceOperations = {
  adminListMaintenanceWindows: adminOperation('GET /v2/admin/maintenance-windows', {
    scope: 'admin:read',
    summary: 'List maintenance windows, newest first',
    tags: ['maintenance'],
    query: pageQuery.extend({ nodeId: nodeId.optional(), status: maintenanceStatus.optional() }),
    response: { status: 200, schema: pageOf(maintenance) },
  }),
  adminCreateMaintenanceWindow: adminOperation('POST /v2/admin/maintenance-windows', {
    scope: 'admin:write',
    summary: 'Announce maintenance; the time a machine is away is not billed',
    description:
      'The organisations that have something on the nodes are told at once, and again when it begins and ends. ' +
      'The nodes take nothing new from `drainBeforeSeconds` before the start until the end, and are then put back ' +
      'into use, unless somebody drained or quarantined them meanwhile.',
    tags: ['maintenance'],
    body: z
      .object({
        nodeIds: z.array(nodeId).min(1).max(1000),
        startsAt: timestamp.meta({
          description: 'A start that has just passed, by at most five minutes, means now.',
        }),
        endsAt: timestamp,
        summary: z.string().trim().min(3).max(500),
        drainBeforeSeconds: z
          .int()
          .min(0)
          .max(30 * 86_400)
          .optional()
          .meta({
            description:
              'How long before the start nothing new is placed on the nodes; as the installation says.',
          }),
      })
      .meta({ id: 'MaintenanceWindowCreate' }),
    response: { status: 201, schema: maintenance },
    idempotency: 'key',
    notFoundReason: 'NODE_NOT_FOUND',
  }),
  adminCancelMaintenanceWindow: adminOperation('POST /v2/admin/maintenance-windows/{maintenanceId}/cancel', {
    scope: 'admin:write',
    summary: 'Call off announced maintenance, or end it early',
    tags: ['maintenance'],
    params: z.object({ maintenanceId }),
    body: z.object({ reason: auditReason.optional() }).meta({ id: 'MaintenanceWindowCancel' }),
    response: { status: 200, schema: maintenance },
    idempotency: 'key',
    notFoundReason: 'MAINTENANCE_NOT_FOUND',
  }),
} as const;
