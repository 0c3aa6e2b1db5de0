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
 * Checks whether storage nodes respond and serve their specs. Differing volumes become due and are then reconciled.
 * Silence counts only while a node was observed.
 */

const orphanVolumesGauge = gauge('millrace_volumes_strays');
const differingCounter = counter('millrace_volumes_differing_total');
const silentNodesGauge = gauge('millrace_volumes_silent_nodes');
const lateBy = gauge('millrace_volumes_late_seconds');

const isolation = 'read committed' as const;

export interface NodeChecker {
  /** Checks every node whose check is due. Returns how many there were. */
  look(signal: AbortSignal): Promise<number>;
  /** Resolves when no check and no removal is in progress. */
  ended(): Promise<void>;
}

interface CheckRunners {
  readonly looks: ItemRunner;
  readonly leftovers: ItemRunner;
}

/**
 * Checks nodes concurrently with a time limit for each: a node that hangs keeps its own slot and does not delay others.
 * Leftovers are removed beside the checks, because a removal may take long.
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

/** Most nodes respond sooner; the next round does not wait for the others. */
const CHECK_WAIT_MS = 2_000;

/** One round over the due nodes that waits for all of them. Returns their number. */
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
    // The wait ends here even if the backend ignores its signal.
    const [backend, views] = await withDeadline(
      clock,
      'Checking a storage node',
      policy.gapMs,
      async (late) => {
        const connected = await backends.of(node);
        return [connected, await connected.list(AbortSignal.any([signal, late]))] as const;
      },
    );
    await recordResponse(db, node);
    if (node.kind !== 'mock') await compareNode(deps, runners, node, { backend, views, signal });
    silentNodesGauge.record(0, { node: node.name });
  } catch (error) {
    if (signal.aborted) return;
    log.warn({ err: error, storageNode: node.name }, 'storage node did not respond');
    backends.renew(node.id);
    await recordSilence(deps, node, errorMessageOf(error));
  }
}

/** Volumes that waited for a response of the node become due at once. */
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
      statusReason: why.slice(0, REASON_MAX) || 'The storage node does not respond.',
    });
    return isOver;
  });
  if (!isSilent) return;
  silentNodesGauge.record(1, { node: node.name });
  // One transaction for each volume, so that no two volumes are locked at once.
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
  // The node may have responded to another worker in the meantime.
  if (volume !== null && node?.status === 'silent')
    await markVolumeUnknown(tx, volume, 'The storage node is unreachable.');
}

/** Compares volumes that no worker is changing with their specs. */
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
  // A worker is about to change the volume.
  if (phase === 'provisioning' || phase === 'purging' || volume.servedSeq !== volume.specSeq) return false;
  if (view === undefined || !view.isServed || view.vip !== volume.vip || view.sizeGb < volume.sizeGb)
    return true;
  const expected = phase === 'live' ? attached : [];
  const clients = new Set(view.clients);
  return clients.size !== expected.length || !expected.every((client) => clients.has(client));
}

/** Removes leftovers of purged volumes. Orphans are left for an operator to check. */
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
  // The next check finds the rest.
  await leftovers.run([...purged].slice(0, leftovers.free), {
    key: (id) => `${node.id} ${id}`,
    work: (id, signal) => look.backend.remove(id, signal),
    maxWaitMs: REMOVAL_WAIT_MS,
  });
  const left = unknown.filter((id) => !purged.has(id));
  orphanVolumesGauge.record(left.length, { node: node.name });
  if (left.length > 0) {
    log.error({ storageNode: node.name, volumes: left.slice(0, 20) }, 'storage node has orphan volumes');
  }
}
