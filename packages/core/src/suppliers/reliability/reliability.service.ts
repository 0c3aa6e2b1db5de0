import type { Timer } from '@millrace/platform/clock';
import type { Db, Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import { toUuid, type EnrolmentId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner } from '@millrace/platform/loops';
import { counter } from '@millrace/platform/telemetry';
import {
  findNode,
  lockCapacity,
  transitionNode,
  windowsBetween,
  type NodeRecord,
} from '../../fleet/index.ts';
import { quarantineLoop, reliabilityLoop } from '../loops.ts';
import { measureUptime, computeReliability, type ReliabilityCounters } from './reliability.ts';
import {
  incrementQuarantines,
  readQuarantineEvidence,
  readQuarantineCandidates,
  type QuarantineCandidate,
} from './quarantine-evidence.store.ts';
import {
  addMeasurements,
  startMeasuring,
  deleteOldDays,
  listDueMachines,
  lockDueMachines,
  readStateChanges,
  readStartCounts,
  saveReliability,
  type DueMachine,
} from './reliability.store.ts';
import { parseTestedHardware } from './tested-hardware.ts';
import { differenceFromTested, decideQuarantine, type QuarantineDecision } from './quarantine-decision.ts';

/** Measures and quarantines suppliers' machines. Idempotent; several workers may run concurrently. */

export interface ReliabilityDeps {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'warn' | 'error'>;
}

const reliabilityActor: Actor = { kind: 'system', id: 'supplier-trust' };

const quarantined = counter('millrace_suppliers_quarantines_total');

const isolation = 'read committed';
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Rows of transactions that have not committed yet must not be missed; transactions end sooner than this. */
export const COMMIT_MARGIN_MS = 2 * MINUTE_MS;
const MEASURE_EVERY_MS = 5 * MINUTE_MS;
/** After a fault its machine is checked in every run for this long. */
const RECENT_FAULT_MS = 10 * MINUTE_MS;
const RETENTION_DAYS = 90;

/** Measures due machines and checks them for a quarantine. Returns the number measured. */
export async function measureMachines(deps: ReliabilityDeps, limit: number): Promise<number> {
  const { db } = deps;
  await db.transaction({ name: 'begin trust', isolation }, (tx) => startMeasuring(tx, limit));
  const due = await db.transaction({ name: 'list due machines', isolation }, (tx) =>
    listDueMachines(tx, { measuredBefore: measuredBefore(tx), now: tx.clock.now(), limit }),
  );
  const measured: EnrolmentId[] = [];
  await createItemRunner(reliabilityLoop, { db, log: deps.log }).runBatch(due, {
    key: (machineId) => toUuid(machineId),
    together: async (machineIds) => {
      const done = await db.transaction({ name: 'measure machines', isolation }, (tx) =>
        measureBatch(tx, machineIds),
      );
      measured.push(...done);
    },
  });
  if (measured.length > 0) {
    const where = { now: db.clock.now(), machineIds: measured };
    await quarantineCandidates(deps, await readQuarantineCandidates(db, where));
  }
  return measured.length;
}

const measuredBefore = (tx: Tx): Date => new Date(tx.clock.nowMs() - COMMIT_MARGIN_MS - MEASURE_EVERY_MS);

/** Checks machines with recent faults. Returns the number quarantined. */
export async function quarantineFaultyMachines(deps: ReliabilityDeps): Promise<number> {
  const faultsSince = new Date(deps.db.clock.nowMs() - RECENT_FAULT_MS);
  return quarantineCandidates(deps, await readQuarantineCandidates(deps.db, { faultsSince }));
}

export function deleteOldReliabilityDays({ db }: { readonly db: Db }, limit: number): Promise<number> {
  return db.transaction({ name: 'forget days of machines', isolation }, (tx) =>
    deleteOldDays(tx, { before: new Date(tx.clock.nowMs() - RETENTION_DAYS * DAY_MS), limit }),
  );
}

async function measureBatch(tx: Tx, machineIds: readonly EnrolmentId[]): Promise<readonly EnrolmentId[]> {
  const to = new Date(tx.clock.nowMs() - COMMIT_MARGIN_MS);
  const due = await lockDueMachines(tx, { measuredBefore: measuredBefore(tx), machineIds });
  if (due.length === 0) return [];
  const from = due.reduce((at, { measuredUntil }) => (measuredUntil < at ? measuredUntil : at), to);
  const nodeIds = due.map(({ nodeId }) => nodeId);
  const changes = await readStateChanges(tx, due);
  const startCounts = await readStartCounts(tx, due, to);
  const windows = await windowsBetween(tx, nodeIds, { from, to });
  const figuresOf = ({ nodeId, measuredUntil, status, watch }: DueMachine): ReliabilityCounters => {
    const { before = status, changes: later = [] } = changes.get(nodeId) ?? {};
    const away = windows
      .filter((window) => window.nodeId === nodeId)
      .map(({ startsAt, endsAt }) => ({ from: startsAt, to: endsAt }));
    const span = { from: measuredUntil, to };
    return {
      ...(startCounts.get(nodeId) ?? { starts: 0, failedStarts: 0, losses: 0 }),
      ...measureUptime({ span, watch, state: before, changes: later, away }),
    };
  };
  const measured = due.map((machine) => ({ machineId: machine.machineId, figures: figuresOf(machine) }));
  const known = await addMeasurements(tx, measured, to);
  const scores = known.map(({ machineId, figures }) => ({
    machineId,
    reliability: computeReliability(figures),
  }));
  await saveReliability(tx, scores, to);
  return due.map(({ machineId }) => machineId);
}

async function quarantineCandidates(
  deps: ReliabilityDeps,
  suspects: readonly QuarantineCandidate[],
): Promise<number> {
  const { db, log } = deps;
  let taken = 0;
  // A machine whose check fails is retried soon and must not stop the checks of others.
  await createItemRunner(quarantineLoop, { db, log }).run(suspects, {
    key: ({ machineId }) => toUuid(machineId),
    work: async (suspect) => {
      const result = await db.transaction({ name: 'judge machine', isolation }, (tx) =>
        quarantineIfFaulty(tx, suspect),
      );
      if (result === null) return;
      taken += 1;
      quarantined.add(1, { cause: result.cause });
      const { machineId, nodeId } = suspect;
      log.warn({ machineId, nodeId, cause: result.cause }, "supplier's machine quarantined");
    },
  });
  return taken;
}

/** Under the lock that placement takes, so that no placement happens after the decision. */
async function quarantineIfFaulty(tx: Tx, suspect: QuarantineCandidate): Promise<QuarantineDecision | null> {
  await lockCapacity(tx, [suspect.nodeId]);
  const node = await findNode(tx, suspect.nodeId);
  if (node === null || !isInService(node)) return null;
  const evidence = await readQuarantineEvidence(tx, suspect);
  const difference = hardwareDifference(suspect, node, evidence.inServiceSince);
  const result = decideQuarantine({ ...evidence, difference });
  if (result === null) return null;
  const { reason } = result;
  await transitionNode(tx, suspect.nodeId, 'node_quarantined', { reason, actor: reliabilityActor });
  await incrementQuarantines(tx, suspect);
  return result;
}

function isInService({ status }: NodeRecord): boolean {
  return status === 'node_ready' || status === 'node_draining' || status === 'node_offline';
}

/** An operator that resumed the machine has seen its hardware. */
function hardwareDifference({ tests }: QuarantineCandidate, node: NodeRecord, since: Date): string | null {
  const tested = parseTestedHardware(tests);
  if (tested === null || node.hardwareReadAt === null || node.hardwareReadAt <= since) return null;
  return differenceFromTested(tested, {
    gpus: node.gpus.filter(({ state }) => state === 'present'),
    cpuCount: node.cpuCount,
    ramMb: node.ramMb,
  });
}
