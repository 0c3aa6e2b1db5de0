import {
  machineStates,
  actionDecision,
  type MachineAction,
  type MachineState,
  type Reason,
} from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import { Fault, invalidField } from '@millrace/platform/fault';
import type { ClusterId, GpuId, NodeId } from '@millrace/platform/ids';
import { appendAuditEntry, type AuditContext } from '../../identity/index.ts';
import type { ClusterRecord, ProviderRecord } from '../inventory/clusters.ts';
import {
  findCluster,
  findProvider,
  listEngineEndpoints,
  lockCluster,
  lockProvider,
  refreshOpenFlags,
  setProviderEnabled,
} from '../inventory/clusters.store.ts';
import { isSameEngine, problemWithEndpoint } from '../inventory/engine-endpoints.ts';
import {
  clearHardwareDigest,
  insertNewCluster,
  lockClusterNodes,
  setClusterRemoved,
  setDrainDeadline,
  setGpuState,
  type NewCluster,
} from './fleet-admin.store.ts';
import { lockConfiguration } from './fleet-config.store.ts';
import { releaseFromWindows } from '../maintenance/maintenance.store.ts';
import type { NodeRecord } from '../inventory/nodes.ts';
import { transitionNode } from '../inventory/nodes.service.ts';
import { findNode, lockCapacity, applyNodeTransitions } from '../inventory/nodes.store.ts';
import { countWriteOffs } from '../inventory/write-offs.store.ts';

/** Operator actions on the fleet. Each action writes an audit entry with actor and reason. */

export interface ProviderChange {
  readonly enabled?: boolean | undefined;
  readonly regions?: readonly { readonly region: string; readonly enabled: boolean }[] | undefined;
}

/** Enables or disables a provider or its regions, and updates the open flags in the same transaction. */
export async function updateProvider(
  tx: Tx,
  cause: AuditContext,
  id: string,
  change: ProviderChange & { readonly reason: string },
): Promise<ProviderRecord> {
  const before = await lockProvider(tx, id);
  if (before === null) throw new Fault('PROVIDER_NOT_FOUND');
  const { enabled, regions = [], reason } = change;
  regions.forEach(({ region }, index) => {
    if (before.regions.some((known) => known.region === region)) return;
    throw invalidField(['regions', index, 'region'], `is not one of ${regionNames(before)}`);
  });
  await setProviderEnabled(tx, id, { ...(enabled === undefined ? {} : { enabled }), regions });
  const after = await findProvider(tx, id);
  if (after === null) throw new Fault('PROVIDER_NOT_FOUND');
  await appendAuditEntry(tx, null, cause, {
    action: 'provider.switched',
    resource: { kind: 'provider', id },
    before: enabledFlagsOf(before),
    after: enabledFlagsOf(after),
    reason,
  });
  return after;
}

function enabledFlagsOf({ enabled, regions }: ProviderRecord): Readonly<Record<string, unknown>> {
  return { enabled, regions: Object.fromEntries(regions.map((each) => [each.region, each.enabled])) };
}

export interface CreateClusterRequest extends NewCluster {
  readonly reason?: string | undefined;
}

/** Whether a credential with this name is configured. Only workers read the secret. */
export type HasCredential = (name: string) => boolean;

/** Registers a cluster; an observer then polls it. */
export async function createCluster(
  tx: Tx,
  cause: AuditContext,
  request: CreateClusterRequest,
  knowsCredential: HasCredential,
): Promise<ClusterRecord> {
  const { reason, ...fields } = request;
  const provider = await findProvider(tx, fields.providerId);
  if (provider === null || !provider.configured) throw new Fault('PROVIDER_NOT_FOUND');
  const { driver } = provider;
  if (driver !== fields.driver) {
    throw invalidField(['driver'], `must be ${driver}, the driver of the provider ${provider.id}`);
  }
  const region = provider.regions.find((known) => known.region === fields.region);
  if (region === undefined || !region.configured) {
    throw invalidField(['region'], `is not one of ${regionNames(provider)}`);
  }
  const problem = problemWithEndpoint(fields.driver, fields.endpoint);
  if (problem !== null) throw invalidField(['endpoint'], problem);
  await lockConfiguration(tx);
  const same = (await listEngineEndpoints(tx)).find((known) => isSameEngine(known, fields));
  if (same !== undefined && same.name !== fields.name) {
    throw invalidField(['endpoint'], `belongs to the cluster ${same.name}; its machines would be sold twice`);
  }
  if (fields.credentialRef !== null && !knowsCredential(fields.credentialRef)) {
    throw new Fault('CREDENTIAL_UNKNOWN');
  }
  const id = await insertNewCluster(tx, fields, null);
  if (id === null) throw new Fault('CLUSTER_EXISTS');
  await appendAuditEntry(tx, null, cause, {
    action: 'cluster.registered',
    resource: { kind: 'cluster', id },
    after: { ...fields },
    ...(reason === undefined ? {} : { reason }),
  });
  const cluster = await findCluster(tx, id);
  if (cluster === null) throw new Error(`Cluster ${id} disappeared in the transaction that created it.`);
  return cluster;
}

/** Closes the cluster to placement first, so that it has no allocations when the transaction commits. Idempotent. */
export async function removeCluster(
  tx: Tx,
  cause: AuditContext,
  id: ClusterId,
  reason: string | undefined,
): Promise<void> {
  const cluster = await lockCluster(tx, id);
  if (cluster === null) throw new Fault('CLUSTER_NOT_FOUND');
  if (cluster.status === 'removed') return;
  if (cluster.origin === 'configuration' && cluster.configured) throw new Fault('CLUSTER_CONFIGURED');
  const why = reason ?? 'The cluster was removed.';
  await setClusterRemoved(tx, id, why);
  await refreshOpenFlags(tx, { clusterId: id });
  const nodes = await lockClusterNodes(tx, id);
  if (nodes.some((node) => node.isHeld)) throw new Fault('CLUSTER_HAS_WORK');
  const at = tx.clock.now();
  const removal = { reason: why, statusReason: why, backTo: null, drainDeadlineAt: null };
  for (const { step, to } of removalSteps(nodes)) {
    const moves = step.map(({ id: nodeId, status: from }) => ({ nodeId, from, to, ...removal }));
    await applyNodeTransitions(tx, moves, { actor: cause.actor, at });
  }
  await appendAuditEntry(tx, null, cause, {
    action: 'cluster.removed',
    resource: { kind: 'cluster', id },
    before: { status: cluster.status, nodeCount: nodes.length },
    ...(reason === undefined ? {} : { reason }),
  });
}

interface NodeStatus {
  readonly id: NodeId;
  readonly status: MachineState;
}

/** A ready or registering node cannot be removed directly, so it passes through draining or quarantine. */
function removalSteps(
  nodes: readonly NodeStatus[],
): readonly { readonly step: readonly NodeStatus[]; readonly to: MachineState }[] {
  const ready = nodes.filter((node) => node.status === 'node_ready');
  const unread = nodes.filter((node) => node.status === 'node_registering');
  const via = new Map<MachineState, MachineState>([
    ['node_ready', 'node_draining'],
    ['node_registering', 'node_quarantined'],
  ]);
  return [
    { step: ready, to: 'node_draining' },
    { step: unread, to: 'node_quarantined' },
    { step: nodes.map(({ id, status }) => ({ id, status: via.get(status) ?? status })), to: 'node_removed' },
  ];
}

export interface NodeActionRequest {
  readonly reason: string;
  readonly deadlineAt?: Date | null;
}

const nodeActions = {
  drain: { to: 'node_draining', done: 'drained', action: 'node.drained' },
  resume: { to: 'node_ready', done: 'resumed', action: 'node.resumed' },
  quarantine: { to: 'node_quarantined', done: 'quarantined', action: 'node.quarantined' },
  remove: { to: 'node_removed', done: 'removed', action: 'node.removed' },
} as const satisfies Partial<
  Record<MachineAction, { to: MachineState; done: string; action: `node.${string}` }>
>;

/** Suggestions for actions that the state of the node does not allow. */
const suggestions: Readonly<Record<keyof typeof nodeActions, Partial<Record<MachineState, string>>>> = {
  drain: {
    node_registering: 'The node accepts no rentals yet. Quarantine it to keep it out of use.',
    node_quarantined: 'The node already accepts no rentals. Resume it first to drain it instead.',
  },
  resume: { node_registering: 'The node becomes ready once its hardware has been read.' },
  quarantine: {},
  remove: {
    node_registering: 'Quarantine the node first.',
    node_ready: 'Drain or quarantine the node first.',
  },
};

function nodeActionFault(name: keyof typeof nodeActions, status: MachineState, reason: Reason): Fault {
  if (status === 'node_removed') {
    return new Fault(reason, {
      message: 'The node was removed and cannot be changed.',
      suggestion: 'GET /v2/admin/nodes lists the current nodes.',
    });
  }
  const suggestion = suggestions[name][status];
  return new Fault(reason, {
    message: `The node is ${status} and cannot be ${nodeActions[name].done} in that state.`,
    ...(suggestion === undefined ? {} : { suggestion }),
  });
}

/** Applies an operator's action. It overrides maintenance windows: those that hold the node release it. */
export async function applyNodeAction(
  tx: Tx,
  cause: AuditContext,
  nodeId: NodeId,
  name: keyof typeof nodeActions,
  { reason, deadlineAt = null }: NodeActionRequest,
): Promise<NodeRecord> {
  const { to, action } = nodeActions[name];
  const now = tx.clock.now();
  if (deadlineAt !== null && deadlineAt <= now) throw invalidField(['deadlineAt'], 'must be in the future');
  await lockCapacity(tx, [nodeId]);
  const before = await findNode(tx, nodeId);
  if (before === null) throw new Fault('NODE_NOT_FOUND');
  const decision = actionDecision(machineStates, name, before.status);
  if (decision !== 'allowed' && decision !== 'repeat') throw nodeActionFault(name, before.status, decision);
  if (name === 'resume') await requireNoWriteOffs(tx, before);
  const options = { reason, actor: cause.actor, drainDeadlineAt: deadlineAt };
  const { node } = await transitionNode(tx, nodeId, to, options);
  await releaseFromWindows(tx, nodeId, now);
  const isNewDeadline = deadlineAt !== null && node.drainDeadlineAt?.getTime() !== deadlineAt.getTime();
  if (isNewDeadline) await setDrainDeadline(tx, nodeId, deadlineAt);
  const after = isNewDeadline ? { ...node, drainDeadlineAt: deadlineAt } : node;
  await appendAuditEntry(tx, null, cause, {
    action,
    resource: { kind: 'node', id: nodeId },
    before: auditedState(before),
    after: auditedState(after),
    reason,
  });
  return after;
}

/** A written-off machine that may still run holds GPUs which placement counts as free. */
async function requireNoWriteOffs(tx: Tx, node: NodeRecord): Promise<void> {
  const count = await countWriteOffs(tx, node);
  if (count === 0) return;
  throw new Fault('NODE_HAS_WRITE_OFFS', {
    message: `${count} machines of this node were written off, and its engine has not confirmed that they are deleted.`,
  });
}

function auditedState({ status, backTo, drainDeadlineAt }: NodeRecord): Readonly<Record<string, unknown>> {
  const drain = drainDeadlineAt === null ? {} : { drainDeadlineAt };
  return { status, ...(backTo === null ? {} : { backTo }), ...drain };
}

/**
 * Marks a GPU as faulty, or returns it to use. A returned GPU is `missing` until the next poll reports it, because it
 * may have been removed physically.
 */
export async function setGpuFaulty(
  tx: Tx,
  cause: AuditContext,
  nodeId: NodeId,
  gpuId: GpuId,
  mark: { readonly faulty: boolean; readonly reason: string },
): Promise<NodeRecord> {
  await lockCapacity(tx, [nodeId]);
  const node = await findNode(tx, nodeId);
  if (node === null || node.status === 'node_removed') throw new Fault('NODE_NOT_FOUND');
  const { faulty, reason } = mark;
  const before = await setGpuState(
    tx,
    nodeId,
    gpuId,
    faulty
      ? { from: ['present', 'missing'], to: 'faulty', reason }
      : { from: ['faulty'], to: 'missing', reason: 'Returned to service; waits for the next inventory.' },
  );
  if (before === null) throw new Fault('GPU_NOT_FOUND');
  if ((before === 'faulty') === faulty) return node;
  await clearHardwareDigest(tx, nodeId);
  await appendAuditEntry(tx, null, cause, {
    action: faulty ? 'gpu.taken_out' : 'gpu.put_back',
    resource: { kind: 'gpu', id: gpuId },
    before: { nodeId, state: before },
    reason,
  });
  const after = await findNode(tx, nodeId);
  if (after === null) throw new Fault('NODE_NOT_FOUND');
  return after;
}

function regionNames(provider: ProviderRecord): string {
  return provider.regions.map((known) => known.region).join(', ');
}
