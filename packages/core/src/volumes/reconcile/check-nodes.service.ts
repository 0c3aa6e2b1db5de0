import { withDeadline } from '@millrace/platform/clock';
import type { Db, Tx } from '@millrace/platform/db';
import { isUuid, toUuid, type OrgId, type StorageNodeId, type VolumeId } from '@millrace/platform/ids';
import { createItemRunner, type ItemRunner } from '@millrace/platform/loops';
import { counter, gauge } from '@millrace/platform/telemetry';
import type { VolumeBackend, VolumeView } from '@millrace/storage';
import { listClientsOfNode } from '../model/attachments.store.ts';
import type { VolumeDeps } from './reconcile-volume.ts';
import { checkNodesLoop, removeLeftoversLoop } from '../model/loops.ts';
import { silentForMs, observedSinceAt, type StorageNode } from '../model/storage-nodes.ts';
import {
  claimNodeCheck,
  findStorageNode,
  findPurged,
  listVolumesOfNode,
  scheduleVolumesNow,
  saveStorageNode,
  bumpSpecVersions,
} from '../model/storage-nodes.store.ts';
import { markVolumeUnknown, errorMessageOf } from './record-outcome.service.ts';
import type { Volume } from '../model/volume.ts';
import { lockVolume, readOldestDueMs } from '../model/volumes.store.ts';

/**
 * Looks at storage nodes: whether they answer, and whether what they serve is what it should be. What differs is made due,
 * and brought right by whoever works on volumes. Silence counts only while somebody looked.
 */

const orphanVolumesGauge = gauge(
  'millrace_volumes_strays',
  'Volumes that a storage node has and nobody knows, by node: a person must look',
);
const differingCounter = counter(
  'millrace_volumes_differing_total',
  'Volumes that were found to be served otherwise than they should be',
);
const silentNodesGauge = gauge('millrace_volumes_silent_nodes', 'Whether a storage node is silent, by node');
const lateBy = gauge('millrace_volumes_late_seconds', 'How long the volume that waits longest has been due');

const isolation = 'read committed' as const;

export interface NodeChecker {
  /** Checks every node whose check is due. Returns how many there were. */
  look(signal: AbortSignal): Promise<number>;
  /** Resolves when no check and no removal is under way. */
  ended(): Promise<void>;
}

interface CheckRunners {
  readonly looks: ItemRunner;
  readonly leftovers: ItemRunner;
}

/**
 * Checks nodes concurrently, and waits for each at most its time limit: a node that hangs keeps its own slot, and the next
 * check of the others begins meanwhile. Leftovers are removed beside the checks, since a removal may take long.
 */
export function createNodeChecker(deps: VolumeDeps, maxWaitMs: number = CHECK_WAIT_MS): NodeChecker {
  const { db, clock, log } = deps;
  const runners: CheckRunners = {
    looks: createItemRunner(checkNodesLoop, { clock, log }),
    leftovers: createItemRunner(removeLeftoversLoop, { clock, log }),
  };
  return {
    async look(signal) {
      const claimed: StorageNode[] = [];
      while (!signal.aborted && claimed.length < runners.looks.free) {
        const node = await claimNode(
          deps,
          claimed.map(({ id }) => id),
        );
        if (node === null) break;
        claimed.push(node);
      }
      await runners.looks.run(claimed, {
        key: ({ id }) => id,
        work: (node, ends) => checkStorageNode(deps, runners, node, ends),
        signal,
        maxWaitMs,
      });
      lateBy.record((await readOldestDueMs(db, db.clock.now())) * 1e-3);
      return claimed.length;
    },
    async ended() {
      await Promise.all([runners.looks.settled(), runners.leftovers.settled()]);
    },
  };
}

/** Most nodes answer sooner; those that do not are waited for beside the next round. */
const CHECK_WAIT_MS = 2_000;

/** One round over the nodes that are due, all of it waited for. Answers how many there were. */
export async function checkDueNodes(deps: VolumeDeps, signal: AbortSignal): Promise<number> {
  const watch = createNodeChecker(deps, checkNodesLoop.timeoutMs);
  const count = await watch.look(signal);
  await watch.ended();
  return count;
}

function claimNode({ db, policy }: VolumeDeps, but: readonly StorageNodeId[]): Promise<StorageNode | null> {
  return db.transaction({ name: 'claim storage node', isolation }, async (tx) => {
    const now = tx.clock.now();
    const node = await claimNodeCheck(tx, { now, until: new Date(now.getTime() + policy.lookMs), but });
    if (node === null) return null;
    const watchSince = observedSinceAt(node, now, policy);
    await saveStorageNode(tx, node, { lastCheckAt: now, watchSince });
    return { ...node, lastCheckAt: now, watchSince };
  });
}

async function checkStorageNode(
  deps: VolumeDeps,
  runners: CheckRunners,
  node: StorageNode,
  signal: AbortSignal,
): Promise<void> {
  const { db, clock, policy, log, backends } = deps;
  try {
    // The wait ends here also if the backend ignores its signal.
    const [backend, views] = await withDeadline(clock, 'A look at a node', policy.gapMs, async (late) => {
      const connected = await backends.of(node);
      return [connected, await connected.list(AbortSignal.any([signal, late]))] as const;
    });
    await recordResponse(db, node);
    if (node.kind !== 'mock') await compareNode(deps, runners, node, { backend, views, signal });
    silentNodesGauge.record(0, { node: node.name });
  } catch (error) {
    if (signal.aborted) return;
    log.warn({ err: error, storageNode: node.name }, 'a storage node did not answer');
    backends.renew(node.id);
    await recordSilence(deps, node, errorMessageOf(error));
  }
}

/** It answered. Volumes that waited for that are looked at at once. */
async function recordResponse(db: Db, node: StorageNode): Promise<void> {
  await db.transaction({ name: 'note storage node', isolation }, async (tx) => {
    await saveStorageNode(tx, node, { seenAt: tx.clock.now(), status: 'connected', statusReason: null });
    if (node.status === 'connected') return;
    await scheduleVolumesNow(tx, await listVolumesOfNode(tx, node.id));
  });
}

async function recordSilence({ db, policy }: VolumeDeps, node: StorageNode, why: string): Promise<void> {
  const isSilent = await db.transaction({ name: 'note storage node', isolation }, async (tx) => {
    const current = await findStorageNode(tx, node.id);
    if (current === null) return false;
    const isOver = silentForMs(current, tx.clock.now()) >= policy.silentMs;
    const status = isOver ? 'silent' : current.status;
    await saveStorageNode(tx, current, {
      status,
      statusReason: why.slice(0, REASON_MAX) || 'It does not answer.',
    });
    return isOver;
  });
  if (!isSilent) return;
  silentNodesGauge.record(1, { node: node.name });
  // Each for itself: whoever changes one of them meanwhile is waited for, and no two of them are held at once.
  for (const { orgId, id, status } of await listVolumesOfNode(db, node.id)) {
    if (status !== 'active') continue;
    await db.transaction({ name: 'hide volume', isolation }, (tx) =>
      markUnknownIfSilent(tx, orgId, id, node.id),
    );
  }
}

const REASON_MAX = 1_000;
const REMOVAL_WAIT_MS = 1_000;

async function markUnknownIfSilent(tx: Tx, orgId: OrgId, id: VolumeId, nodeId: StorageNodeId): Promise<void> {
  const volume = await lockVolume(tx, orgId, id);
  const node = await findStorageNode(tx, nodeId);
  // It may have answered somebody else while we were waiting.
  if (volume !== null && node?.status === 'silent')
    await markVolumeUnknown(tx, volume, 'Its storage node is silent.');
}

/** What the node serves against what it should, of volumes that nobody works on. */
async function compareNode(
  deps: VolumeDeps,
  runners: CheckRunners,
  node: StorageNode,
  look: NodeListing,
): Promise<void> {
  const { db } = deps;
  const found = new Map(look.views.map((view) => [view.externalId, view]));
  const expected = await listVolumesOfNode(db, node.id);
  const clients = await listClientsOfNode(db, node.id);
  const wrong = expected.filter((volume) =>
    isServedWrong(volume, found.get(toUuid(volume.id)), clients.get(volume.id) ?? []),
  );
  if (wrong.length > 0) {
    differingCounter.add(wrong.length);
    await db.transaction({ name: 'wish volumes again', isolation }, (tx) => bumpSpecVersions(tx, wrong));
  }
  await removeLeftoverVolumes(deps, runners, node, { ...look, expected });
}

interface NodeListing {
  readonly backend: VolumeBackend;
  readonly views: readonly VolumeView[];
  readonly signal: AbortSignal;
}

function isServedWrong(volume: Volume, view: VolumeView | undefined, attached: readonly string[]): boolean {
  const { phase } = volume;
  // Whoever works on it is about to change it.
  if (phase === 'provisioning' || phase === 'purging' || volume.servedSeq !== volume.specSeq) return false;
  if (view === undefined || !view.isServed || view.vip !== volume.vip || view.sizeGb < volume.sizeGb)
    return true;
  const expected = phase === 'live' ? attached : [];
  const clients = new Set(view.clients);
  return clients.size !== expected.length || !expected.every((client) => clients.has(client));
}

/** What a node has of volumes that are purged is removed again; what nobody knows is left for a person to look at. */
async function removeLeftoverVolumes(
  { db, log }: VolumeDeps,
  { leftovers }: CheckRunners,
  node: StorageNode,
  look: NodeListing & { readonly expected: readonly Volume[] },
): Promise<void> {
  const known = new Set(look.expected.map(({ id }) => toUuid(id)));
  const unknown = look.views.map(({ externalId }) => externalId).filter((id) => !known.has(id));
  const named = unknown.filter(isUuid);
  const purged = named.length === 0 ? new Set<string>() : await findPurged(db, node.id, named);
  // As many as there is room for: the next check finds the rest.
  await leftovers.run([...purged].slice(0, leftovers.free), {
    key: (id) => `${node.id} ${id}`,
    work: (id, signal) => look.backend.remove(id, signal),
    maxWaitMs: REMOVAL_WAIT_MS,
  });
  const left = unknown.filter((id) => !purged.has(id));
  orphanVolumesGauge.record(left.length, { node: node.name });
  if (left.length > 0) {
    log.error(
      { storageNode: node.name, volumes: left.slice(0, 20) },
      'a storage node has volumes that nobody knows',
    );
  }
}
