import type { ComputeDriver } from '@millrace/compute';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { toUuid, type ClusterId } from '@millrace/platform/ids';
import { listClusters, type ClusterRecord } from '../../fleet/index.ts';
import {
  compareCluster,
  type RepairFinding,
  type CompareDeps,
  type ComparisonResult,
} from './compare-cluster.ts';
import { defaultInventoryPolicy, repairMetricKind, type Repair, type ObservedState } from './plan-repairs.ts';
import { listOverdue, readComparison } from './comparisons.store.ts';
import type { OrphanPlan } from './plan-orphans.ts';

/** Reports the repairs that the inventory reconciler would make now, without making them. */

export interface PlannedRepair {
  /** The metric kind; `noted`: only stored. */
  readonly kind: string;
  readonly rentalId: number;
  readonly externalId: string;
  readonly seen: readonly ObservedState[];
  /** Description for operators. */
  readonly what: string;
}

export interface PlannedOrphan {
  readonly externalId: string;
  readonly orgId: string;
  readonly nodeName: string;
  /** `reap`: would be removed now. `person`: needs an operator's approval. `later`: follows in a later comparison. */
  readonly plan: 'new' | 'waiting' | 'reap' | 'person' | 'later' | 'lost' | 'misplaced';
}

export interface PlannedCluster {
  readonly clusterId: ClusterId;
  readonly cluster: string;
  /** Why the engine did not list its machines; null if it did. */
  readonly problem: string | null;
  readonly comparedAt: Date | null;
  readonly machines: number;
  readonly repairs: readonly PlannedRepair[];
  readonly strays: readonly PlannedOrphan[];
}

export interface DryRun {
  readonly at: Date;
  readonly clusters: readonly PlannedCluster[];
  /** Rentals that no worker has reconciled in time. */
  readonly late: readonly string[];
}

export interface DryRunDeps {
  readonly db: Db;
  readonly clock: Timer;
  readonly drivers: (clusterId: ClusterId) => Promise<ComputeDriver>;
  readonly mayHaveLostRow?: NonNullable<CompareDeps['mayHaveLostRow']>;
  /** Only the cluster with this name. */
  readonly cluster?: string;
}

const PAGE_SIZE = 200;
const OVERDUE_SHOWN_MAX = 200;

/** Null if no cluster has that name. */
export async function dryRun(deps: DryRunDeps): Promise<DryRun | null> {
  const { db } = deps;
  const all = await allClusters(db);
  const selected = deps.cluster === undefined ? all : all.filter(({ name }) => name === deps.cluster);
  if (deps.cluster !== undefined && selected.length === 0) return null;
  const clusters: PlannedCluster[] = [];
  for (const { id } of selected) {
    const comparison = await readComparison(db, id, db.clock.now());
    const result = await compareCluster({ ...deps, policy: defaultInventoryPolicy }, comparison);
    if (result !== null) clusters.push(plannedCluster(result));
  }
  const late = await listOverdue(db, db.clock.now(), OVERDUE_SHOWN_MAX);
  return { at: db.clock.now(), clusters, late: late.map(({ id }) => toUuid(id)) };
}

async function allClusters(db: Db): Promise<readonly ClusterRecord[]> {
  const found: ClusterRecord[] = [];
  for (;;) {
    const page = await listClusters(db, {}, { limit: PAGE_SIZE, after: found.at(-1)?.id ?? null });
    found.push(...page.slice(0, PAGE_SIZE));
    if (page.length <= PAGE_SIZE) return found;
  }
}

function plannedCluster({
  cluster,
  problem,
  context,
  machineCount,
  findings,
  orphans,
}: ComparisonResult): PlannedCluster {
  return {
    clusterId: cluster.id,
    cluster: cluster.name,
    problem,
    comparedAt: context.wholeAt,
    machines: machineCount,
    repairs: findings.flatMap(plannedRepairs),
    strays: orphans === null ? [] : plannedOrphans(orphans),
  };
}

function plannedRepairs({ wireId, externalId, sights, repairs }: RepairFinding): readonly PlannedRepair[] {
  return repairs.map((repair) => ({
    kind: repairMetricKind(repair) ?? 'noted',
    rentalId: wireId,
    externalId,
    seen: [...sights.values()],
    what: describeRepair(repair),
  }));
}

function plannedOrphans(plan: OrphanPlan): readonly PlannedOrphan[] {
  const shown = (
    machines: readonly Pick<PlannedOrphan, 'externalId' | 'orgId' | 'nodeName'>[],
    what: PlannedOrphan['plan'],
  ): readonly PlannedOrphan[] =>
    machines.map(({ externalId, orgId, nodeName }) => ({ externalId, orgId, nodeName, plan: what }));
  return [
    ...shown(plan.fresh, 'new'),
    ...shown(plan.waiting, 'waiting'),
    ...shown(plan.remove, 'reap'),
    ...shown(plan.held, plan.isPersonNeeded ? 'person' : 'later'),
    ...shown(plan.lost, 'lost'),
    ...shown(plan.misplaced, 'misplaced'),
  ];
}

function describeRepair(repair: Repair): string {
  switch (repair.do) {
    case 'note':
      return `store its last healthy time ${repair.since.toISOString()}`;
    case 'clear':
      return 'mark it as healthy again';
    case 'unknown':
      return `Running → Unknown; last healthy at ${repair.since.toISOString()}`;
    case 'back':
      return 'Unknown → Running';
    case 'pause':
      return `pause billing from ${repair.at.toISOString()} (${repair.because})`;
    case 'resume':
      return 'resume billing';
    case 'fail':
      return `→ Failed (${repair.because}); billing ends at ${repair.at.toISOString()}`;
    case 'power':
      return `show it as ${repair.to}`;
    case 'start':
      return 'start it again';
    case 'stop':
      return 'stop it again';
  }
}

const orphanPlanTexts: Readonly<Record<PlannedOrphan['plan'], string>> = {
  new: 'seen for the first time',
  waiting: 'first seen too recently to be removed',
  reap: 'would be removed now',
  person: 'waits for your approval, because there are too many',
  later: 'would be removed after the others',
  lost: 'waits for your approval, because a restore may have lost its rental',
  misplaced: 'belongs to a rental on another cluster and would be kept',
};

/** Formats the report for terminals. */
export function formatDryRun(run: DryRun): string {
  const lines = [`Planned repairs at ${run.at.toISOString()}. Nothing was changed.`];
  for (const cluster of run.clusters) {
    const compared = cluster.comparedAt === null ? 'never' : cluster.comparedAt.toISOString();
    lines.push('', `${cluster.cluster}: ${cluster.machines} machines, last complete comparison: ${compared}`);
    if (cluster.problem !== null) lines.push(`  The engine did not respond: ${cluster.problem}`);
    for (const { rentalId, seen, what } of cluster.repairs) {
      lines.push(`  rental ${rentalId} (observed ${seen.join(', ')}): ${what}`);
    }
    for (const { externalId, nodeName, plan } of cluster.strays) {
      lines.push(
        `  machine ${externalId} on ${nodeName}, without a rental on this cluster: ${orphanPlanTexts[plan]}`,
      );
    }
    if (cluster.problem === null && cluster.repairs.length === 0 && cluster.strays.length === 0) {
      lines.push('  Nothing to repair.');
    }
  }
  if (run.late.length > 0) {
    lines.push('', `Overdue rentals: ${run.late.join(', ')}`);
  }
  return `${lines.join('\n')}\n`;
}
