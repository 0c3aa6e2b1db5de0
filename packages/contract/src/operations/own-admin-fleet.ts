import { z } from 'zod';
import { machineStateNames } from '../states/machine.ts';
import {
  admin,
  auditReason,
  noContent,
  organisationId,
  page,
  pageQuery,
  prefixedId,
  timestamp,
  userId,
} from './own-kit.ts';

/** Operators: the fleet. Hardware is read from the engines; nobody types it in. */

const providerId = z.string().min(1).max(64);
const clusterId = prefixedId('cls', 'a cluster');
export const nodeId = prefixedId('nod', 'a node');
const maintenanceId = prefixedId('mnt', 'a maintenance window');

export const nodeStatus = z.enum(machineStateNames).meta({ id: 'NodeStatus' });

const provider = z
  .object({
    id: providerId,
    variant: z.string(),
    driver: z.string(),
    enabled: z.boolean(),
    regions: z.array(z.object({ region: z.string(), enabled: z.boolean(), customPorts: z.boolean() })),
  })
  .meta({ id: 'Provider' });

const cluster = z
  .object({
    id: clusterId,
    name: z.string(),
    providerId,
    region: z.string(),
    driver: z.string(),
    endpoint: z.string(),
    status: z.enum(['connecting', 'connected', 'silent', 'removed']),
    lastSeenAt: timestamp.nullable(),
    nodeCount: z.int().nonnegative(),
    createdAt: timestamp,
  })
  .meta({ id: 'Cluster' });

export const gpu = z.object({
  id: z.string(),
  model: z.string(),
  gpuType: z.string(),
  ramMb: z.int().nonnegative(),
  pciAddress: z.string(),
  numaNode: z.int().nullable(),
  allocatedTo: z.string().nullable().meta({ description: 'The external id of the rental or instance.' }),
});

const node = z
  .object({
    id: nodeId,
    name: z.string(),
    clusterId,
    supplierId: z.string().nullable(),
    status: nodeStatus,
    statusReason: z.string().nullable(),
    statusSince: timestamp,
    cpuModel: z.string(),
    cpuCount: z.int().nonnegative(),
    ramGb: z.int().nonnegative(),
    storageGb: z.int().nonnegative(),
    gpus: z.array(gpu),
    liveRentalCount: z.int().nonnegative(),
    lastSeenAt: timestamp.nullable(),
  })
  .meta({ id: 'Node' });

const maintenance = z
  .object({
    id: maintenanceId,
    nodeIds: z.array(nodeId),
    startsAt: timestamp,
    endsAt: timestamp,
    summary: z.string(),
    status: z.enum(['announced', 'in_progress', 'completed', 'cancelled']),
    affectedRentalCount: z.int().nonnegative(),
    createdAt: timestamp,
  })
  .meta({ id: 'MaintenanceWindow' });

const providerOperations = {
  adminListProviders: admin({
    id: 'adminListProviders',
    method: 'GET',
    path: '/v2/admin/providers',
    scope: 'admin:read',
    summary: 'List the configured providers and their regions',
    tags: ['fleet'],
    query: pageQuery,
    response: { status: 200, schema: page(provider) },
    idempotency: 'none',
  }),
  adminUpdateProvider: admin({
    id: 'adminUpdateProvider',
    method: 'PATCH',
    path: '/v2/admin/providers/{providerId}',
    scope: 'admin:write',
    summary: 'Switch a provider or some of its regions on or off',
    description: 'Switching off stops new rentals only.',
    tags: ['fleet'],
    params: z.object({ providerId }),
    body: z
      .object({
        enabled: z.boolean().optional(),
        regions: z
          .array(z.object({ region: z.string().min(1).max(64), enabled: z.boolean() }))
          .max(100)
          .optional(),
        reason: auditReason,
      })
      .meta({ id: 'ProviderUpdate' }),
    response: { status: 200, schema: provider },
    refuses: [404],
    idempotency: 'none',
    notFoundReason: 'PROVIDER_NOT_FOUND',
  }),
  adminListClusters: admin({
    id: 'adminListClusters',
    method: 'GET',
    path: '/v2/admin/clusters',
    scope: 'admin:read',
    summary: 'List clusters',
    tags: ['fleet'],
    query: pageQuery,
    response: { status: 200, schema: page(cluster) },
    idempotency: 'none',
  }),
  adminCreateCluster: admin({
    id: 'adminCreateCluster',
    method: 'POST',
    path: '/v2/admin/clusters',
    scope: 'admin:write',
    summary: 'Register the endpoint of a compute engine',
    tags: ['fleet'],
    body: z
      .object({
        name: z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/),
        providerId,
        region: z.string().min(1).max(64),
        driver: z.enum(['incus', 'ironic', 'mock']),
        endpoint: z.string().min(1).max(2048),
        credentialRef: z.string().min(1).max(255).nullable().default(null).meta({
          description: 'The name of a secret known to the installation, never the secret.',
        }),
      })
      .meta({ id: 'ClusterCreate' }),
    response: { status: 201, schema: cluster },
    refuses: [404],
    idempotency: 'key',
    notFoundReason: 'PROVIDER_NOT_FOUND',
  }),
  adminRemoveCluster: admin({
    id: 'adminRemoveCluster',
    method: 'DELETE',
    path: '/v2/admin/clusters/{clusterId}',
    scope: 'admin:write',
    summary: 'Forget a cluster on which nothing runs any more',
    tags: ['fleet'],
    params: z.object({ clusterId }),
    response: noContent,
    refuses: [404, 409],
    idempotency: 'none',
    notFoundReason: 'CLUSTER_NOT_FOUND',
  }),
} as const;

const nodeParams = z.object({ nodeId });
const nodeActionBody = z.object({ reason: auditReason }).meta({ id: 'NodeAction' });

const nodeAction = {
  method: 'POST',
  scope: 'admin:write',
  tags: ['fleet'],
  params: nodeParams,
  body: nodeActionBody,
  response: { status: 200, schema: node },
  refuses: [404, 409],
  idempotency: 'key',
  notFoundReason: 'NODE_NOT_FOUND',
} as const;

const nodeOperations = {
  adminListNodes: admin({
    id: 'adminListNodes',
    method: 'GET',
    path: '/v2/admin/nodes',
    scope: 'admin:read',
    summary: 'List nodes with their GPUs',
    tags: ['fleet'],
    query: pageQuery.extend({ clusterId: clusterId.optional(), status: nodeStatus.optional() }),
    response: { status: 200, schema: page(node) },
    idempotency: 'none',
  }),
  adminGetNode: admin({
    id: 'adminGetNode',
    method: 'GET',
    path: '/v2/admin/nodes/{nodeId}',
    scope: 'admin:read',
    summary: 'Read a node',
    tags: ['fleet'],
    params: nodeParams,
    response: { status: 200, schema: node },
    refuses: [404],
    idempotency: 'none',
    notFoundReason: 'NODE_NOT_FOUND',
  }),
  adminDrainNode: admin({
    ...nodeAction,
    id: 'adminDrainNode',
    path: '/v2/admin/nodes/{nodeId}/drain',
    summary: 'Place nothing new on a node; what runs stays',
  }),
  adminResumeNode: admin({
    ...nodeAction,
    id: 'adminResumeNode',
    path: '/v2/admin/nodes/{nodeId}/resume',
    summary: 'Put a drained or quarantined node back into use',
  }),
  adminQuarantineNode: admin({
    ...nodeAction,
    id: 'adminQuarantineNode',
    path: '/v2/admin/nodes/{nodeId}/quarantine',
    summary: 'Take a node out of use until somebody has looked at it',
  }),
  adminRemoveNode: admin({
    id: 'adminRemoveNode',
    method: 'DELETE',
    path: '/v2/admin/nodes/{nodeId}',
    scope: 'admin:write',
    summary: 'Remove an empty node from the fleet',
    tags: ['fleet'],
    params: nodeParams,
    response: noContent,
    refuses: [404, 409],
    idempotency: 'none',
    notFoundReason: 'NODE_NOT_FOUND',
  }),
} as const;

const maintenanceOperations = {
  adminListMaintenanceWindows: admin({
    id: 'adminListMaintenanceWindows',
    method: 'GET',
    path: '/v2/admin/maintenance-windows',
    scope: 'admin:read',
    summary: 'List maintenance windows',
    tags: ['maintenance'],
    query: pageQuery,
    response: { status: 200, schema: page(maintenance) },
    idempotency: 'none',
  }),
  adminCreateMaintenanceWindow: admin({
    id: 'adminCreateMaintenanceWindow',
    method: 'POST',
    path: '/v2/admin/maintenance-windows',
    scope: 'admin:write',
    summary: 'Announce maintenance; the time a machine is away is not billed',
    tags: ['maintenance'],
    body: z
      .object({
        nodeIds: z.array(nodeId).min(1).max(1000),
        startsAt: timestamp,
        endsAt: timestamp,
        summary: z.string().trim().min(3).max(500),
      })
      .meta({ id: 'MaintenanceWindowCreate' }),
    response: { status: 201, schema: maintenance },
    refuses: [404],
    idempotency: 'key',
    notFoundReason: 'NODE_NOT_FOUND',
  }),
  adminCancelMaintenanceWindow: admin({
    id: 'adminCancelMaintenanceWindow',
    method: 'POST',
    path: '/v2/admin/maintenance-windows/{maintenanceId}/cancel',
    scope: 'admin:write',
    summary: 'Call off announced maintenance, or end it early',
    tags: ['maintenance'],
    params: z.object({ maintenanceId }),
    response: { status: 200, schema: maintenance },
    refuses: [404],
    idempotency: 'key',
    notFoundReason: 'MAINTENANCE_NOT_FOUND',
  }),
} as const;

const reservationRequest = z
  .object({
    id: prefixedId('rrq', 'a reservation request'),
    organisationId,
    requestedBy: userId,
    gpuCount: z.number().min(1),
    createdAt: timestamp,
  })
  .meta({ id: 'ReservationRequest' });

const leadOperations = {
  adminListReservationRequests: admin({
    id: 'adminListReservationRequests',
    method: 'GET',
    path: '/v2/admin/reservation-requests',
    scope: 'admin:read',
    summary: 'List requests for large reservations, newest first',
    tags: ['fleet'],
    query: pageQuery,
    response: { status: 200, schema: page(reservationRequest) },
    idempotency: 'none',
  }),
} as const;

export const adminFleetOperations = {
  ...providerOperations,
  ...nodeOperations,
  ...maintenanceOperations,
  ...leadOperations,
} as const;
