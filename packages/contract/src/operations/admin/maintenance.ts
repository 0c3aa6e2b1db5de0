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

/** Operator operations: maintenance windows. */

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
    drainsAt: timestamp.meta({ description: 'From this time, nothing new is placed on its nodes.' }),
    endedAt: timestamp.nullable().meta({
      description:
        'When it ended: endsAt, or the time of its cancellation. Before startsAt: it never started.',
    }),
    affectedRentalCount: z.int().nonnegative().meta({
      description: 'Rentals and instances whose organisations were notified.',
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
    summary: 'Announce maintenance; the time a machine is unavailable is not billed',
    description:
      'Organisations with resources on the nodes are notified at once, and again when the window starts and ends. The nodes accept no new work from `drainBeforeSeconds` before the start until the end. They then return to service, unless they were drained or quarantined in the meantime.',
    tags: ['maintenance'],
    body: z
      .object({
        nodeIds: z.array(nodeId).min(1).max(1000),
        startsAt: timestamp.meta({
          description: 'A start at most five minutes in the past means now.',
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
              'How long before the start the nodes stop accepting new work. Default: the setting of the installation.',
          }),
      })
      .meta({ id: 'MaintenanceWindowCreate' }),
    response: { status: 201, schema: maintenance },
    idempotency: 'key',
    notFoundReason: 'NODE_NOT_FOUND',
  }),
  adminCancelMaintenanceWindow: adminOperation('POST /v2/admin/maintenance-windows/{maintenanceId}/cancel', {
    scope: 'admin:write',
    summary: 'Cancel announced maintenance, or end it early',
    tags: ['maintenance'],
    params: z.object({ maintenanceId }),
    body: z.object({ reason: auditReason.optional() }).meta({ id: 'MaintenanceWindowCancel' }),
    response: { status: 200, schema: maintenance },
    idempotency: 'key',
    notFoundReason: 'MAINTENANCE_NOT_FOUND',
  }),
} as const;
