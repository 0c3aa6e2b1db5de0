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

/** What operators do with the fleet by hand. Each act is written down with who did it and why. */

export interface ProviderChange {
  readonly enabled?: boolean | undefined;
  readonly regions?: readonly { readonly region: string; readonly enabled: boolean }[] | undefined;
}

/** Switches a provider or some of its regions. What could be placed there changes in the same transaction. */
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

/** Whether the installation has a credential of this name. The secret itself is the workers' business. */
export type HasCredential = (name: string) => boolean;

/** Registers a cluster. Whoever watches clusters finds it and reads what it has. */
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
    throw invalidField(['driver'], `must be ${driver}, as the provider ${provider.id} is configured`);
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
    throw invalidField(['endpoint'], `is that of the cluster ${same.name}: its machines would be sold twice`);
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
  if (cluster === null) throw new Error(`Cluster ${id} is gone in the transaction that made it.`);
  return cluster;
}

/**
 * Forgets a cluster and its nodes. Placement is shut out first, so that "nothing runs there" is still true when this
 * commits. Doing it twice changes nothing the second time.
 */
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

/** No node is removed from the state in which it takes work: those that are ready are drained first, empty as they are. */
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
  /** For a drain. */
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

/** What helps, where the state of a node does not let something be done to it. */
const suggestions: Readonly<Record<keyof typeof nodeActions, Partial<Record<MachineState, string>>>> = {
  drain: {
    node_registering: 'It takes no work yet. Quarantine it to keep it out of use.',
    node_quarantined: 'It takes nothing new already. Resume it first if it shall be drained instead.',
  },
  resume: { node_registering: 'It becomes ready by itself once its hardware has been read.' },
  quarantine: {},
  remove: {
    node_registering: 'Quarantine it first.',
    node_ready: 'Drain or quarantine it first.',
  },
};

function nodeActionFault(name: keyof typeof nodeActions, status: MachineState, reason: Reason): Fault {
  if (status === 'node_removed') {
    return new Fault(reason, {
      message: 'The node was removed, and nothing can be done to it any more.',
      suggestion: 'GET /v2/admin/nodes lists the nodes that are there.',
    });
  }
  const suggestion = suggestions[name][status];
  return new Fault(reason, {
    message: `The node is ${status}, and in that state it cannot be ${nodeActions[name].done}.`,
    ...(suggestion === undefined ? {} : { suggestion }),
  });
}

/**
 * An operator's word on a node. It counts more than a maintenance window's: one that holds the node lets go of it, and
 * what the operator wants stays when the window ends.
 */
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
    message: `${count} machines of this node were written off, and its engine has not confirmed that they are gone.`,
  });
}

function auditedState({ status, backTo, drainDeadlineAt }: NodeRecord): Readonly<Record<string, unknown>> {
  const drain = drainDeadlineAt === null ? {} : { drainDeadlineAt };
  return { status, ...(backTo === null ? {} : { backTo }), ...drain };
}

/**
 * Takes one GPU out of use, or puts it back. Back means unseen until the next read of the engine finds it there: what
 * was taken out may have been taken out of the machine too.
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
      : { from: ['faulty'], to: 'missing', reason: 'Put back; waits to be seen by the next read.' },
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
