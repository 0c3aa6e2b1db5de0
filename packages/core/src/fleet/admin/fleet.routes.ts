import type { Contract } from '@millrace/contract';
import type { Db } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import { decodeCursor, toPage, type HttpServer } from '@millrace/platform/http';
import { parseId, type ClusterId, type MaintenanceId, type NodeId } from '@millrace/platform/ids';
import { secondsToMs } from '@millrace/platform/money';
import { z } from 'zod';
import { operatorAuditContext, pageById, positionFromCursor, readCommitted } from '../../identity/index.ts';
import { listClusters, listProviders } from '../inventory/clusters.store.ts';
import {
  applyNodeAction,
  createCluster,
  setGpuFaulty,
  removeCluster,
  updateProvider,
  type HasCredential,
} from './fleet-admin.service.ts';
import { listNodeTransitions } from './fleet-admin.store.ts';
import { toWireCluster, toWireNode, toWireProvider, toWireTransition, toWireWindow } from './fleet.wire.ts';
import { DRAIN_LEAD_MS } from '../maintenance/maintenance.ts';
import { announceMaintenance, cancelMaintenance } from '../maintenance/maintenance.service.ts';
import { listWindows } from '../maintenance/maintenance.store.ts';
import { findNode, listNodes } from '../inventory/nodes.store.ts';

export interface FleetRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  readonly knowsCredential: HasCredential;
  /** Default lead time of the drain before maintenance. */
  readonly drainBeforeMs?: number;
}

/** Routes of operators: providers, clusters, nodes and maintenance windows. */
export function serveFleet(routes: FleetRoutes): void {
  serveProviders(routes);
  serveClusters(routes);
  serveNodes(routes);
  serveNodeActions(routes);
  serveMaintenance(routes);
}

const providerPosition = z.object({ id: z.string().min(1).max(64) });
const transitionPosition = z.object({ seq: z.int().positive() });

function serveProviders({ server, operations, db }: FleetRoutes): void {
  server.serve(operations.adminListProviders, async ({ query: { limit, cursor } }) => {
    const after = cursor === undefined ? null : decodeCursor(cursor, providerPosition).id;
    return pageById(await listProviders(db, { limit, after }), limit, toWireProvider);
  });

  server.serve(operations.adminUpdateProvider, ({ params, body, context, transact }) =>
    transact({ name: 'switch provider', isolation: readCommitted }, async (tx) => {
      const provider = await updateProvider(tx, operatorAuditContext(context), params.providerId, body);
      return { body: toWireProvider(provider), resource: { kind: 'provider', id: provider.id } };
    }),
  );
}

function serveClusters({ server, operations, db, knowsCredential }: FleetRoutes): void {
  server.serve(operations.adminListClusters, async ({ query }) => {
    const { limit, cursor, ...filter } = query;
    const rows = await listClusters(db, filter, { limit, after: positionFromCursor('cls', cursor) });
    return pageById(rows, limit, toWireCluster);
  });

  server.serve(operations.adminCreateCluster, ({ body, context, transact }) =>
    transact({ name: 'register cluster', isolation: readCommitted }, async (tx) => {
      const cluster = await createCluster(tx, operatorAuditContext(context), body, knowsCredential);
      return { body: toWireCluster(cluster), resource: { kind: 'cluster', id: cluster.id } };
    }),
  );

  server.serve(operations.adminRemoveCluster, ({ params, query, context, transact }) =>
    transact({ name: 'remove cluster', isolation: readCommitted }, async (tx) => {
      const id = requireClusterId(params.clusterId);
      await removeCluster(tx, operatorAuditContext(context), id, query.reason);
      return { body: undefined };
    }),
  );
}

function serveNodes({ server, operations, db }: FleetRoutes): void {
  server.serve(operations.adminListNodes, async ({ query }) => {
    const { limit, cursor, clusterId, status } = query;
    const filter = { status, clusterId: clusterId === undefined ? undefined : requireClusterId(clusterId) };
    const rows = await listNodes(db, filter, { limit, after: positionFromCursor('nod', cursor) });
    return pageById(rows, limit, toWireNode);
  });

  server.serve(operations.adminGetNode, async ({ params }) =>
    toWireNode(await requireNode(db, requireNodeId(params.nodeId))),
  );

  server.serve(operations.adminListNodeTransitions, async ({ params, query: { limit, cursor } }) => {
    const node = await requireNode(db, requireNodeId(params.nodeId));
    const after = cursor === undefined ? null : decodeCursor(cursor, transitionPosition).seq;
    const rows = await listNodeTransitions(db, node.id, { limit, after });
    return toPage({ rows, limit, toItem: toWireTransition, positionOf: ({ seq }) => ({ seq }) });
  });
}

function serveNodeActions({ server, operations }: FleetRoutes): void {
  server.serve(operations.adminDrainNode, ({ params, body, context, transact }) =>
    transact({ name: 'drain node', isolation: readCommitted }, async (tx) => {
      const deadlineAt = body.deadlineAt === undefined ? null : new Date(body.deadlineAt);
      const args = { reason: body.reason, deadlineAt };
      const id = requireNodeId(params.nodeId);
      return nodeEffect(await applyNodeAction(tx, operatorAuditContext(context), id, 'drain', args));
    }),
  );

  const { adminResumeNode: resume, adminQuarantineNode: quarantine } = operations;
  for (const [action, operation] of [['resume', resume] as const, ['quarantine', quarantine] as const]) {
    server.serve(operation, ({ params, body, context, transact }) =>
      transact({ name: `${action} node`, isolation: readCommitted }, async (tx) => {
        const id = requireNodeId(params.nodeId);
        return nodeEffect(await applyNodeAction(tx, operatorAuditContext(context), id, action, body));
      }),
    );
  }

  server.serve(operations.adminRemoveNode, ({ params, query, context, transact }) =>
    transact({ name: 'remove node', isolation: readCommitted }, async (tx) => {
      const args = { reason: query.reason ?? 'Removed by an operator.' };
      await applyNodeAction(tx, operatorAuditContext(context), requireNodeId(params.nodeId), 'remove', args);
      return { body: undefined };
    }),
  );

  server.serve(operations.adminMarkGpu, ({ params, body, context, transact }) =>
    transact({ name: 'mark gpu', isolation: readCommitted }, async (tx) => {
      const gpuId = parseId('gpu', params.gpuId);
      if (gpuId === null) throw new Fault('GPU_NOT_FOUND');
      const nodeId = requireNodeId(params.nodeId);
      return nodeEffect(await setGpuFaulty(tx, operatorAuditContext(context), nodeId, gpuId, body));
    }),
  );
}

function serveMaintenance({ server, operations, db, drainBeforeMs = DRAIN_LEAD_MS }: FleetRoutes): void {
  server.serve(operations.adminListMaintenanceWindows, async ({ query }) => {
    const { limit, cursor, nodeId, status } = query;
    const filter = { status, nodeId: nodeId === undefined ? undefined : requireNodeId(nodeId) };
    const rows = await listWindows(db, filter, { limit, after: positionFromCursor('mnt', cursor) });
    return pageById(rows, limit, toWireWindow);
  });

  server.serve(operations.adminCreateMaintenanceWindow, ({ body, context, transact }) =>
    transact({ name: 'announce maintenance', isolation: readCommitted }, async (tx) => {
      const { drainBeforeSeconds, summary } = body;
      const window = await announceMaintenance(tx, operatorAuditContext(context), {
        nodeIds: body.nodeIds.map(requireNodeId),
        startsAt: new Date(body.startsAt),
        endsAt: new Date(body.endsAt),
        summary,
        drainBeforeMs: drainBeforeSeconds === undefined ? drainBeforeMs : secondsToMs(drainBeforeSeconds),
      });
      return { body: toWireWindow(window), resource: { kind: 'maintenance', id: window.id } };
    }),
  );

  server.serve(operations.adminCancelMaintenanceWindow, ({ params, body, context, transact }) =>
    transact({ name: 'cancel maintenance', isolation: readCommitted }, async (tx) => {
      const id = requireMaintenanceId(params.maintenanceId);
      const window = await cancelMaintenance(tx, operatorAuditContext(context), id, body.reason);
      return { body: toWireWindow(window), resource: { kind: 'maintenance', id } };
    }),
  );
}

function nodeEffect(node: Parameters<typeof toWireNode>[0]) {
  return { body: toWireNode(node), resource: { kind: 'node', id: node.id } };
}

async function requireNode(db: Db, id: NodeId) {
  const node = await findNode(db, id);
  if (node === null) throw new Fault('NODE_NOT_FOUND');
  return node;
}

function requireClusterId(text: string): ClusterId {
  const id = parseId('cls', text);
  if (id === null) throw new Fault('CLUSTER_NOT_FOUND');
  return id;
}

function requireNodeId(text: string): NodeId {
  const id = parseId('nod', text);
  if (id === null) throw new Fault('NODE_NOT_FOUND');
  return id;
}

function requireMaintenanceId(text: string): MaintenanceId {
  const id = parseId('mnt', text);
  if (id === null) throw new Fault('MAINTENANCE_NOT_FOUND');
  return id;
}
