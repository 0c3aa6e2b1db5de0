import type { ComputeDriver, MachineView } from '@millrace/compute';
import { withDeadline, type Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { ClusterId, NodeId } from '@millrace/platform/ids';
import { gauge } from '@millrace/platform/telemetry';
import { findCluster, listWithheldNodeNames, type ClusterRecord } from '../../fleet/index.ts';
import { maintenanceWindowsFor, type FoundAddress, type RentalObservation } from './repair-rental.ts';
import {
  observeFromDescribe,
  observeFromList,
  isObservedBeforeChange,
  exceedsFloorAndPercent,
  planRepairs,
  machineKeyOf,
  indexMachines,
  type ComparedRental,
  type MachinesByKey,
  type InventoryPolicy,
  type Repair,
  type ComparisonContext,
  type ObservedMachine,
  type ObservedState,
} from './plan-repairs.ts';
import {
  findRecordedMachines,
  listKnown,
  listOrphans,
  type Comparison,
  type KnownMachine,
} from './comparisons.store.ts';
import { planOrphans, type OrphanPlanInput, type OrphanPlan } from './plan-orphans.ts';

/** Compares the machines that one cluster's engine lists with the rows of rentals, and plans repairs. Changes nothing. */

export interface CompareDeps {
  readonly db: Db;
  readonly clock: Timer;
  /** Returns the driver of a cluster. Rejects while its engine is unreachable. */
  readonly drivers: (clusterId: ClusterId) => Promise<ComputeDriver>;
  readonly policy: InventoryPolicy;
  /** Absent: the database has lost no row. */
  readonly mayHaveLostRow?: OrphanPlanInput['mayHaveLostRow'];
}

export interface RepairFinding extends RentalObservation {
  readonly wireId: number;
  readonly externalId: string;
  readonly repairs: readonly Repair[];
}

export interface ComparisonResult {
  readonly cluster: ClusterRecord;
  readonly context: ComparisonContext;
  /** Why the engine did not list its machines; null if it did. */
  readonly problem: string | null;
  readonly machineCount: number;
  readonly rentalCount: number;
  readonly findings: readonly RepairFinding[];
  /** A rental changed during the comparison and its machine looks faulty: only the next comparison shows why. */
  readonly isUnsettled: boolean;
  /** Null if the engine did not respond. */
  readonly orphans: OrphanPlan | null;
  readonly addresses: readonly FoundAddress[];
  /** Machines that the engine listed; null if the cluster has no machines that were written off and may still exist. */
  readonly writtenOff: {
    readonly externalIds: readonly string[];
    readonly unlisted: readonly string[];
  } | null;
}

/** Null if the cluster was removed. */
export async function compareCluster(
  deps: CompareDeps,
  comparison: Comparison,
): Promise<ComparisonResult | null> {
  const cluster = await findCluster(deps.db, comparison.clusterId);
  if (cluster === null || cluster.status === 'removed') return null;
  const now = deps.db.clock.now();
  const list = await listEngineMachines(deps, cluster);
  // Read after the list, because rows are written before the engine creates a machine.
  const known = await listKnown(deps.db, cluster.id);
  const seen = 'problem' in list ? null : list;
  const subjects = await observeRentals(deps, { clusterId: cluster.id, list: seen, known });
  const missing = subjects
    .flatMap(({ machines }) => machines)
    .filter(({ observed }) => observed === 'missing');
  const context: ComparisonContext = {
    now,
    answered: seen !== null,
    isSilent: cluster.status === 'silent',
    watchingSince: comparison.watchingSince,
    wholeAt: comparison.wholeAt,
    isVanishingHeld: exceedsFloorAndPercent(missing.length, known.length, {
      floor: deps.policy.vanishedFloor,
      percent: deps.policy.vanishedPercent,
    }),
    policy: deps.policy,
  };
  return {
    cluster,
    context,
    problem: 'problem' in list ? list.problem : null,
    machineCount: known.length,
    rentalCount: subjects.length,
    findings: await planAllRepairs(deps.db, subjects, context),
    isUnsettled: subjects.some(
      ({ rental, machines }) =>
        isObservedBeforeChange(context, rental) &&
        machines.some(({ observed }) => faultStates.includes(observed)),
    ),
    orphans:
      seen === null ? null : await planClusterOrphans(deps, { comparison, context, known, list: seen }),
    addresses: seen === null ? [] : findNewAddresses(known, seen.listed),
    writtenOff: await findWrittenOff(deps.db, cluster.id, seen),
  };
}

async function findWrittenOff(
  db: Db,
  clusterId: ClusterId,
  list: ListedMachines | null,
): Promise<ComparisonResult['writtenOff']> {
  if (list === null || (await listWithheldNodeNames(db, clusterId)).size === 0) return null;
  const externalIds = [...list.listed.values()].map(({ externalId }) => externalId);
  return { externalIds, unlisted: [...list.unreachableNodes] };
}

function findNewAddresses(known: readonly KnownMachine[], listed: MachinesByKey): readonly FoundAddress[] {
  return known.flatMap((machine) => {
    if (machine.state !== 'open' || machine.privateIp !== null) return [];
    const privateIp = listed.get(machineKeyOf(machine))?.privateIps[0];
    const { orgId, rentalId, externalId } = machine;
    return privateIp === undefined ? [] : [{ orgId, rentalId, externalId, privateIp }];
  });
}

const unfilteredGauge = gauge('millrace_machines_without_filters');

const faultStates: readonly ObservedState[] = ['broken', 'missing', 'unheard'];

interface ListedMachines {
  readonly listed: MachinesByKey;
  readonly unreachableNodes: ReadonlySet<string>;
}

async function listEngineMachines(
  { clock, drivers, policy }: CompareDeps,
  cluster: ClusterRecord,
): Promise<ListedMachines | { readonly problem: string }> {
  // An unresponsive host must not delay other comparisons: a supplier's host has few machines, and a silent engine is only
  // checked for its return.
  const isShort = cluster.status === 'silent' || cluster.supplierOrgId !== null;
  const timeoutMs = isShort ? policy.shortListTimeoutMs : policy.listTimeoutMs;
  try {
    const owned = await withDeadline(clock, 'Listing machines', timeoutMs, async (signal) =>
      (await drivers(cluster.id)).listOwned(signal),
    );
    const unfiltered = owned.machines.filter(({ isUnfiltered }) => isUnfiltered === true);
    unfilteredGauge.record(unfiltered.length, { cluster: cluster.name });
    return { listed: indexMachines(owned), unreachableNodes: new Set(owned.unreachableNodes) };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

interface ComparedGroup {
  readonly first: KnownMachine;
  readonly rental: ComparedRental;
  readonly machines: readonly (ObservedMachine & { readonly nodeId: NodeId })[];
}

async function observeRentals(
  deps: CompareDeps,
  facts: {
    readonly clusterId: ClusterId;
    readonly list: ListedMachines | null;
    readonly known: readonly KnownMachine[];
  },
): Promise<readonly ComparedGroup[]> {
  const present = facts.known.filter(
    ({ attempt, state, rental }) =>
      attempt === rental.attempt &&
      state !== 'doomed' &&
      (rental.status === 'Running' || rental.status === 'Unknown'),
  );
  const groups = [...Map.groupBy(present, ({ rentalId }) => rentalId).values()].filter((machines) =>
    // Reconciling handles machines that are still being provisioned.
    machines.every(({ state }) => state === 'open'),
  );
  const sights = new Map<KnownMachine, ObservedState>();
  const doubtful: KnownMachine[] = [];
  for (const machine of groups.flat()) {
    const observed = observeFromList(machine, facts.list);
    if (observed !== 'doubtful') sights.set(machine, observed);
    // A slow list may have read the machine before its start completed, so `off` is checked again.
    if (observed === 'doubtful' || (observed === 'off' && shouldBeOn(machine))) doubtful.push(machine);
  }
  await describeDoubtful(deps, facts.clusterId, doubtful, sights);
  return groups.flatMap((machines) => {
    const [first] = machines;
    if (first === undefined) return [];
    return {
      first,
      rental: first.rental,
      machines: machines.map((machine) => ({
        position: machine.position,
        absentSeen: machine.absentSeen,
        nodeId: machine.nodeId,
        // Not described within the time limit.
        observed: sights.get(machine) ?? ('unheard' as const),
      })),
    };
  });
}

const shouldBeOn = ({ rental }: KnownMachine): boolean => rental.task === null && rental.power === 'on';

const DESCRIBE_CONCURRENCY = 8;

async function describeDoubtful(
  { clock, drivers, policy }: CompareDeps,
  clusterId: ClusterId,
  doubtful: readonly KnownMachine[],
  sights: Map<KnownMachine, ObservedState>,
): Promise<void> {
  const selected = doubtful.slice(0, policy.closeLooks);
  if (selected.length === 0) return;
  await withDeadline(clock, 'Describing machines', policy.closeLooksMs, async (signal) => {
    const driver = await drivers(clusterId);
    await runConcurrently(selected, DESCRIBE_CONCURRENCY, async (machine) => {
      const view: MachineView | null | undefined = signal.aborted
        ? undefined
        : await driver.describe(machine, signal).catch(() => undefined);
      if (view !== undefined) sights.set(machine, observeFromDescribe(view));
    });
  }).catch(() => undefined);
}

export async function runConcurrently<T>(
  all: readonly T[],
  atOnce: number,
  work: (one: T) => Promise<void>,
): Promise<void> {
  const queue = [...all];
  const worker = async (): Promise<void> => {
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) await work(one);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, all.length) }, worker));
}

async function planAllRepairs(
  db: Db,
  subjects: readonly ComparedGroup[],
  context: ComparisonContext,
): Promise<readonly RepairFinding[]> {
  // Most rentals are healthy, so their maintenance windows are not read.
  const odd = subjects.filter(
    ({ rental, machines }) =>
      rental.status === 'Unknown' ||
      rental.billingPausedAt !== null ||
      rental.unhealthySince !== null ||
      machines.some(({ observed, absentSeen }) => observed !== rental.power || absentSeen > 0),
  );
  const windows = await maintenanceWindowsFor(
    db,
    context,
    odd.map(({ rental, machines }) => ({ rental, nodeIds: machines.map(({ nodeId }) => nodeId) })),
  );
  return odd.flatMap(({ first, rental, machines }, index) => {
    const repairs = planRepairs({ rental, machines, windows: windows[index] ?? [] }, context);
    if (repairs.length === 0) return [];
    return {
      orgId: first.orgId,
      rentalId: first.rentalId,
      wireId: first.rental.wireId,
      externalId: first.externalId,
      attempt: first.attempt,
      sights: new Map(machines.map(({ position, observed }) => [position, observed])),
      repairs,
    };
  });
}

async function planClusterOrphans(
  { db, mayHaveLostRow = () => false }: CompareDeps,
  facts: {
    readonly comparison: Comparison;
    readonly context: ComparisonContext;
    readonly known: readonly KnownMachine[];
    readonly list: ListedMachines;
  },
): Promise<OrphanPlan> {
  const { comparison, context, list } = facts;
  const known = new Set(facts.known.map(machineKeyOf));
  const unknown = [...list.listed].flatMap(([key, view]) => (known.has(key) ? [] : [view]));
  return planOrphans({
    now: context.now,
    unknown,
    listedCount: list.listed.size,
    unreachableNodes: list.unreachableNodes,
    remembered: await listOrphans(db, comparison.clusterId),
    recorded: await findRecordedMachines(
      db,
      unknown.map(({ externalId }) => externalId),
    ),
    removalAllowedUntil: comparison.removalAllowedUntil,
    mayHaveLostRow,
    policy: context.policy,
  });
}
