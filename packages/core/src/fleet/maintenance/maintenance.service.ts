import type { Db, Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import { Fault } from '@millrace/platform/fault';
import { toUuid, type MaintenanceId, type NodeId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner } from '@millrace/platform/loops';
import { appendOutboxBatch } from '@millrace/platform/outbox';
import { appendAuditEntry, readCommitted, type AuditContext } from '../../identity/index.ts';
import { maintenanceLoop } from './loops.ts';
import {
  returnsToService,
  isWindowOpen,
  drainsNodes,
  noticesOf,
  drainDecision,
  windowTimesProblem,
  effectiveStateOf,
  statusAt,
  noticeKindFor,
  type MaintenanceWindow,
  type AffectedAllocation,
} from './maintenance.ts';
import {
  findPresentNodes,
  findDrainableNodes,
  findNodesDrainedBy,
  findUnfinishedWindows,
  findWindow,
  insertWindow,
  lockWindow,
  recordFollowUpNotices,
  recordFirstNotices,
  readWindowNodes,
  setWindowNodeHold,
  setWindowStatus,
  type WindowNode,
  type WindowRecord,
} from './maintenance.store.ts';
import { transitionNode } from '../inventory/nodes.service.ts';
import { lockCapacity } from '../inventory/nodes.store.ts';

const maintenanceActor: Actor = { kind: 'system', id: 'maintenance' };

/** Limits one transaction, so that a window with a thousand nodes holds no lock for long. */
const NODES_AT_ONCE = 50;
const NOTICES_PER_BATCH = 200;

export interface MaintenanceRequest {
  readonly nodeIds: readonly NodeId[];
  readonly startsAt: Date;
  readonly endsAt: Date;
  readonly summary: string;
  /** Lead time of the drain before the start. */
  readonly drainBeforeMs: number;
}

/** Announces a window. The transaction notifies one batch of affected organisations; the sweep notifies the rest. */
export async function announceMaintenance(
  tx: Tx,
  cause: AuditContext,
  request: MaintenanceRequest,
): Promise<WindowRecord> {
  const { endsAt, summary } = request;
  const now = tx.clock.now();
  const problem = windowTimesProblem(request, now);
  if (problem !== null) {
    const issue = { path: [problem.field], message: problem.message, code: 'custom' };
    throw new Fault('VALIDATION_FAILED', { issues: [issue] });
  }
  // Past time may already be billed, so no window starts before its announcement.
  const startsAt = request.startsAt < now ? now : request.startsAt;
  const nodeIds = [...new Set(request.nodeIds)];
  const present = await findPresentNodes(tx, nodeIds);
  const absent = nodeIds.find((nodeId) => !present.has(nodeId));
  if (absent !== undefined) throw new Fault('NODE_NOT_FOUND', { message: `Node ${absent} does not exist.` });
  const drainsAt = new Date(startsAt.getTime() - request.drainBeforeMs);
  const window = await insertWindow(tx, { summary, drainsAt, startsAt, endsAt }, nodeIds);
  await appendAuditEntry(tx, null, cause, {
    action: 'maintenance.announced',
    resource: { kind: 'maintenance', id: window.id },
    after: { nodeIds, startsAt, endsAt, drainsAt },
    reason: summary,
  });
  await notifyBatch(tx, window);
  return requireWindow(tx, window.id);
}

/** Cancels a window or ends it early. Idempotent. */
export async function cancelMaintenance(
  tx: Tx,
  cause: AuditContext,
  id: MaintenanceId,
  reason: string | undefined,
): Promise<WindowRecord> {
  const found = await lockWindow(tx, id, 'wait');
  if (found === null) throw new Fault('MAINTENANCE_NOT_FOUND');
  if (found.status === 'cancelled') return requireWindow(tx, id);
  const now = tx.clock.now();
  // The times decide, because the sweep might not have stored the end yet.
  if (statusAt(found, now) === 'completed') throw new Fault('MAINTENANCE_OVER');
  const window = await setWindowStatus(tx, found, 'cancelled', now);
  await appendAuditEntry(tx, null, cause, {
    action: 'maintenance.cancelled',
    resource: { kind: 'maintenance', id },
    before: { status: found.status },
    after: { status: window.status, endedAt: now },
    ...(reason === undefined ? {} : { reason }),
  });
  await returnBatchToService(tx, window);
  await notifyBatch(tx, window);
  return requireWindow(tx, id);
}

/**
 * Applies the times of all windows: updates their status, drains and returns nodes, and sends notices. Several sweeps
 * may run concurrently and late, because each transaction finds the remaining work. A failing window delays no other
 * one and is retried with backoff.
 */
export async function sweepMaintenance(
  db: Db,
  { log }: { readonly log: Pick<Logger, 'warn'> },
): Promise<void> {
  const runStep = (id: MaintenanceId, work: WindowStep) =>
    db.transaction({ name: 'sweep maintenance', isolation: readCommitted }, async (tx) => {
      const window = await lockWindow(tx, id, 'pass');
      return window === null ? false : work(tx, window, tx.clock.now());
    });
  const ids = await findUnfinishedWindows(db);
  const runner = createItemRunner(maintenanceLoop, { db, log });
  // All windows drain before any ends, so a node that passes from one window to another does not become ready in
  // between.
  for (const [step, work] of [['begin', drainStep] as const, ['end', finishStep] as const]) {
    await runner.run(ids, {
      key: (id) => `${toUuid(id)} ${step}`,
      work: async (id, signal) => {
        while (!signal.aborted && (await runStep(id, work)));
      },
    });
  }
}

type WindowStep = (tx: Tx, window: MaintenanceWindow, now: Date) => Promise<boolean>;

/** Returns true if there may be more to do. */
async function drainStep(tx: Tx, window: MaintenanceWindow, now: Date): Promise<boolean> {
  return drainsNodes(window, now) ? drainBatch(tx, window) : false;
}

async function finishStep(tx: Tx, found: MaintenanceWindow, now: Date): Promise<boolean> {
  const status = statusAt(found, now);
  const window =
    status === found.status
      ? found
      : await setWindowStatus(tx, found, status, status === 'completed' ? found.endsAt : null);
  const isMoreToGive = isWindowOpen(window) ? false : await returnBatchToService(tx, window);
  const isMoreToNotify = await notifyBatch(tx, window);
  return isMoreToGive || isMoreToNotify;
}

async function drainBatch(tx: Tx, window: MaintenanceWindow): Promise<boolean> {
  const nodeIds = await findDrainableNodes(tx, window.id, NODES_AT_ONCE);
  const holds = await lockWindowNodes(tx, window, nodeIds, 'waiting');
  const decided = Map.groupBy(holds, (node) => drainDecision(effectiveStateOf(node), node.isHeldByOther));
  const held = idsOf(decided.get('hold'));
  for (const nodeId of held)
    await transitionNode(tx, nodeId, 'node_draining', transitionOptionsOf(window, 'is near'));
  await setWindowNodeHold(tx, window.id, held, 'held');
  await setWindowNodeHold(tx, window.id, idsOf(decided.get('leave')), 'left');
  return nodeIds.length === NODES_AT_ONCE;
}

async function returnBatchToService(tx: Tx, window: MaintenanceWindow): Promise<boolean> {
  const nodeIds = await findNodesDrainedBy(tx, window.id, NODES_AT_ONCE);
  const holds = await lockWindowNodes(tx, window, nodeIds, 'held');
  for (const node of holds) {
    if (!returnsToService(effectiveStateOf(node), node.isHeldByOther)) continue;
    await transitionNode(
      tx,
      node.nodeId,
      'node_ready',
      transitionOptionsOf(window, window.status === 'cancelled' ? 'was cancelled' : 'is over'),
    );
  }
  await setWindowNodeHold(tx, window.id, idsOf(holds), 'left');
  return nodeIds.length === NODES_AT_ONCE;
}

/** Locks the nodes and returns those that still have the expected hold. */
async function lockWindowNodes(
  tx: Tx,
  window: MaintenanceWindow,
  nodeIds: readonly NodeId[],
  hold: WindowNode['hold'],
): Promise<readonly WindowNode[]> {
  if (nodeIds.length === 0) return [];
  await lockCapacity(tx, nodeIds);
  return (await readWindowNodes(tx, window.id, nodeIds)).filter((node) => node.hold === hold);
}

function idsOf(holds: readonly WindowNode[] | undefined): readonly NodeId[] {
  return (holds ?? []).map((node) => node.nodeId);
}

function transitionOptionsOf(window: MaintenanceWindow, what: string) {
  return {
    reason: `Maintenance ${window.id} ${what}: ${window.summary}`,
    actor: maintenanceActor,
    drainDeadlineAt: window.startsAt,
  };
}

/** Notifies affected organisations that have not got the current notice. */
async function notifyBatch(tx: Tx, window: MaintenanceWindow): Promise<boolean> {
  const word = noticeKindFor(window.status);
  const outdated = await recordFollowUpNotices(tx, window.id, word, NOTICES_PER_BATCH);
  const first = isWindowOpen(window) ? await recordFirstNotices(tx, window.id, word, NOTICES_PER_BATCH) : [];
  await emitMaintenanceEvents(tx, window, [...outdated.touched, ...first]);
  return outdated.noted === NOTICES_PER_BATCH || first.length === NOTICES_PER_BATCH;
}

async function emitMaintenanceEvents(
  tx: Tx,
  window: MaintenanceWindow,
  touched: readonly AffectedAllocation[],
): Promise<void> {
  const word = noticeKindFor(window.status);
  await appendOutboxBatch(
    tx,
    noticesOf(window, touched).map(({ orgId, mode, data }) => ({
      kind: 'event',
      type: `maintenance.${word}`,
      orgId,
      mode,
      actor: maintenanceActor,
      resource: { kind: 'maintenance', id: window.id },
      data: word === 'ended' ? { ...data, cancelled: window.status === 'cancelled' } : data,
      occurredAt: tx.clock.now(),
    })),
  );
}

async function requireWindow(tx: Tx, id: MaintenanceId): Promise<WindowRecord> {
  const window = await findWindow(tx, id);
  if (window === null) throw new Fault('MAINTENANCE_NOT_FOUND');
  return window;
}
