import { z } from 'zod';
import {
  adminOperation,
  auditReason,
  mode,
  noContent,
  organisationId,
  pageOf,
  pageQuery,
  prefixedId,
  reasonQuery,
  timestamp,
  userId,
} from '../../operation-builders.ts';
import { adminMaintenanceOperations } from './maintenance.ts';
import { nodeGpu, nodeId, nodeStatus } from '../node-schemas.ts';

/** Operator operations: the fleet. Hardware is read from the engines and never entered by hand. */

const providerId = z.string().min(1).max(64);
const clusterId = prefixedId('cls', 'a cluster');
const gpuId = prefixedId('gpu', 'a GPU');
const offer = z.enum(['virtual-machine', 'bare-metal', 'marketplace']);
const connectionType = z.enum(['ethernet', 'infiniband']);

const provider = z
  .object({
    id: providerId,
    variant: z.string(),
    driver: z.string(),
    mode: mode.meta({ description: '`test` for machines of test keys; `live` for all others.' }),
    enabled: z.boolean(),
    configured: z.boolean().meta({
      description:
        'False if the configuration does not name it. It then sells nothing and is kept for the record.',
    }),
    regions: z.array(
      z.object({
        region: z.string(),
        enabled: z.boolean(),
        configured: z.boolean(),
        customPorts: z.boolean(),
      }),
    ),
  })
  .meta({ id: 'Provider' });

const clusterStatus = z.enum(['connecting', 'connected', 'silent', 'removed']);

const clusterSettings = z
  .record(z.string().min(1).max(100), z.unknown())
  .refine((value) => Object.keys(value).length <= 50, 'at most 50 settings')
  .meta({
    description: 'Settings of the driver beyond the endpoint. Must not contain secrets.',
    maxProperties: 50,
  });

const cluster = z
  .object({
    id: clusterId,
    name: z.string(),
    providerId,
    region: z.string(),
    driver: z.string(),
    endpoint: z.string(),
    credentialRef: z.string().nullable().meta({
      description: 'The name of a secret that the installation has, never the secret.',
    }),
    settings: z.record(z.string(), z.unknown()),
    offer: offer.meta({ description: 'The offer kind of its nodes.' }),
    connectionType: connectionType.meta({
      description: 'How its nodes are connected, unless the engine reports another connection for a node.',
    }),
    origin: z
      .enum(['configuration', 'operator', 'supplier'])
      .meta({ description: 'Where it was registered.' }),
    status: clusterStatus,
    statusReason: z.string().nullable(),
    statusSince: timestamp,
    engine: z
      .string()
      .nullable()
      .meta({ description: 'The name and version that the engine reports; null before its first response.' }),
    lastSeenAt: timestamp.nullable(),
    nodeCount: z.int().nonnegative(),
    createdAt: timestamp,
  })
  .meta({ id: 'Cluster' });

export const node = z
  .object({
    id: nodeId,
    name: z.string(),
    clusterId,
    clusterName: z.string(),
    providerId,
    region: z.string(),
    supplierId: z.string().nullable(),
    status: nodeStatus,
    statusReason: z.string().nullable(),
    statusSince: timestamp,
    drainDeadlineAt: timestamp
      .nullable()
      .meta({ description: 'When the node should be empty, as set with the drain.' }),
    address: z
      .string()
      .nullable()
      .meta({ description: 'The address at which ports of its machines are opened.' }),
    hardwareReadAt: timestamp.nullable().meta({
      description: 'Null: the hardware has not been read yet, and its figures are `unknown` and 0.',
    }),
    cpuModel: z.string(),
    cpuCount: z.int().nonnegative(),
    ramGb: z.int().nonnegative(),
    storageGb: z.int().nonnegative(),
    driverVersion: z.string().nullable(),
    cudaVersion: z
      .string()
      .nullable()
      .meta({ description: 'The newest CUDA version that its driver supports.' }),
    gpus: z.array(nodeGpu),
    liveRentalCount: z.int().nonnegative().meta({
      description: 'Rentals and instances that use its GPUs, including those that are being released.',
    }),
    lastSeenAt: timestamp.nullable(),
  })
  .meta({ id: 'Node' });

const providerOperations = {
  adminListProviders: adminOperation('GET /v2/admin/providers', {
    scope: 'admin:read',
    summary: 'List the configured providers and their regions',
    tags: ['fleet'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(provider) },
  }),
  adminUpdateProvider: adminOperation('PATCH /v2/admin/providers/{providerId}', {
    scope: 'admin:write',
    summary: 'Enable or disable a provider or some of its regions',
    description: 'Disabling stops new rentals only.',
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
    notFoundReason: 'PROVIDER_NOT_FOUND',
  }),
  adminListClusters: adminOperation('GET /v2/admin/clusters', {
    scope: 'admin:read',
    summary: 'List clusters',
    description: 'Removed clusters are listed only if you filter by their status.',
    tags: ['fleet'],
    query: pageQuery.extend({ providerId: providerId.optional(), status: clusterStatus.optional() }),
    response: { status: 200, schema: pageOf(cluster) },
  }),
  adminCreateCluster: adminOperation('POST /v2/admin/clusters', {
    scope: 'admin:write',
    summary: 'Register the endpoint of a compute engine',
    description: 'Its nodes and GPUs are read from the engine as soon as a worker reaches it.',
    tags: ['fleet'],
    body: z
      .object({
        name: z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/),
        providerId,
        region: z.string().min(1).max(64),
        driver: z.enum(['incus', 'ironic', 'mock']),
        endpoint: z.string().min(1).max(2048),
        credentialRef: z.string().min(1).max(255).nullable().default(null).meta({
          description: 'The name of a secret that the installation has, never the secret.',
        }),
        offer: offer.default('virtual-machine').meta({ description: 'The offer kind of its nodes.' }),
        connectionType: connectionType.default('ethernet').meta({
          description:
            'How its nodes are connected, unless the engine reports another connection for a node.',
        }),
        settings: clusterSettings.default({}),
        reason: auditReason.optional(),
      })
      .meta({ id: 'ClusterCreate' }),
    response: { status: 201, schema: cluster },
    idempotency: 'key',
    notFoundReason: 'PROVIDER_NOT_FOUND',
  }),
  adminRemoveCluster: adminOperation('DELETE /v2/admin/clusters/{clusterId}', {
    scope: 'admin:write',
    summary: 'Remove a cluster without running work',
    tags: ['fleet'],
    params: z.object({ clusterId }),
    query: reasonQuery,
    response: noContent,
    refuses: [409],
    notFoundReason: 'CLUSTER_NOT_FOUND',
  }),
} as const;

const nodeTransition = z
  .object({
    seq: z.int().positive().meta({ description: 'Counts from 1 within the node, without gaps.' }),
    from: nodeStatus.nullable(),
    to: nodeStatus,
    reason: z.string(),
    actor: z.string().meta({ description: 'The user id of an operator, or a component of the platform.' }),
    at: timestamp,
  })
  .meta({ id: 'NodeTransition' });

const nodeParams = z.object({ nodeId });
const nodeActionBody = z.object({ reason: auditReason }).meta({ id: 'NodeAction' });

const nodeAction = {
  scope: 'admin:write',
  tags: ['fleet'],
  params: nodeParams,
  body: nodeActionBody,
  response: { status: 200, schema: node },
  refuses: [409],
  idempotency: 'key',
  notFoundReason: 'NODE_NOT_FOUND',
} as const;

const nodeOperations = {
  adminListNodes: adminOperation('GET /v2/admin/nodes', {
    scope: 'admin:read',
    summary: 'List nodes with their GPUs',
    description: 'Removed nodes are listed only if you filter by their status.',
    tags: ['fleet'],
    query: pageQuery.extend({ clusterId: clusterId.optional(), status: nodeStatus.optional() }),
    response: { status: 200, schema: pageOf(node) },
  }),
  adminGetNode: adminOperation('GET /v2/admin/nodes/{nodeId}', {
    scope: 'admin:read',
    summary: 'Read a node',
    tags: ['fleet'],
    params: nodeParams,
    response: { status: 200, schema: node },
    notFoundReason: 'NODE_NOT_FOUND',
  }),
  adminDrainNode: adminOperation('POST /v2/admin/nodes/{nodeId}/drain', {
    ...nodeAction,
    summary: 'Drain a node: running work continues, new work is placed elsewhere',
    body: nodeActionBody
      .extend({
        deadlineAt: timestamp.optional().meta({
          description:
            'When the node should be empty. It is shown with the node; nothing is terminated at that time.',
        }),
      })
      .meta({ id: 'NodeDrain' }),
  }),
  adminResumeNode: adminOperation('POST /v2/admin/nodes/{nodeId}/resume', {
    ...nodeAction,
    summary: 'Return a drained or quarantined node to service',
  }),
  adminQuarantineNode: adminOperation('POST /v2/admin/nodes/{nodeId}/quarantine', {
    ...nodeAction,
    summary: 'Quarantine a node until an operator has checked it',
  }),
  adminRemoveNode: adminOperation('DELETE /v2/admin/nodes/{nodeId}', {
    scope: 'admin:write',
    summary: 'Remove an empty node from the fleet',
    description:
      'Drain it first. Its name is free for a new node when the engine no longer lists the old one.',
    tags: ['fleet'],
    params: nodeParams,
    query: reasonQuery,
    response: noContent,
    refuses: [409],
    notFoundReason: 'NODE_NOT_FOUND',
  }),
  adminListNodeTransitions: adminOperation('GET /v2/admin/nodes/{nodeId}/transitions', {
    scope: 'admin:read',
    summary: 'List the transitions of a node, newest first',
    tags: ['fleet'],
    params: nodeParams,
    query: pageQuery,
    response: { status: 200, schema: pageOf(nodeTransition) },
    notFoundReason: 'NODE_NOT_FOUND',
  }),
  adminMarkGpu: adminOperation('PATCH /v2/admin/nodes/{nodeId}/gpus/{gpuId}', {
    scope: 'admin:write',
    summary: 'Take a single GPU out of service, or return it',
    description: 'A tenant who rents the GPU keeps it; it is not rented again until it returns to service.',
    tags: ['fleet'],
    params: nodeParams.extend({ gpuId }),
    body: z.object({ faulty: z.boolean(), reason: auditReason }).meta({ id: 'GpuMark' }),
    response: { status: 200, schema: node },
    refuses: [409],
    notFoundReason: 'NODE_NOT_FOUND',
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

const reservationRequestOperations = {
  adminListReservationRequests: adminOperation('GET /v2/admin/reservation-requests', {
    scope: 'admin:read',
    summary: 'List requests for large reservations, newest first',
    tags: ['fleet'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(reservationRequest) },
  }),
} as const;

export const adminFleetOperations = {
  ...providerOperations,
  ...nodeOperations,
  ...adminMaintenanceOperations,
  ...reservationRequestOperations,
} as const;
