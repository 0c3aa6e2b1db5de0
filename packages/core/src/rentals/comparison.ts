import type { ComputeDriver, MachineView } from '@millrace/compute';
import { withDeadline, type Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { ClusterId, NodeId } from '@millrace/platform/ids';
import { gauge } from '@millrace/platform/telemetry';
import { findCluster, listWithheld, type ClusterRecord } from '../fleet/index.ts';
import { windowsFor, type FoundAddress, type Sighting } from './reconcile.acts.ts';
import {
  closeSight,
  firstSight,
  isOlder,
  isTooMany,
  judge,
  keyOf,
  listedOf,
  type JudgedRental,
  type Listed,
  type ReconcilePolicy,
  type Repair,
  type Scene,
  type SeenMachine,
  type Sight,
} from './reconcile.ts';
import {
  findElsewhere,
  listKnown,
  listStrays,
  type Comparison,
  type KnownMachine,
} from './sightings.store.ts';
import { planStrays, type StrayFacts, type StrayPlan } from './strays.ts';

/** One look at a cluster: what its engine has, what the rows say, and what follows. Nothing is changed here. */

export interface LookParts {
  readonly db: Db;
  readonly clock: Timer;
  /** The driver of a cluster. Rejects while its engine cannot be spoken to at all. */
  readonly drivers: (clusterId: ClusterId) => Promise<ComputeDriver>;
  readonly policy: ReconcilePolicy;
  /** Absent: the database has lost no row. */
  readonly mayHaveLostRow?: StrayFacts['mayHaveLostRow'];
}

/** A rental with which something is to be done. */
export interface Finding extends Sighting {
  readonly wireId: number;
  readonly externalId: string;
  readonly repairs: readonly Repair[];
}

export interface LookResult {
  readonly cluster: ClusterRecord;
  readonly scene: Scene;
  /** Why the engine did not list its machines; null: it did. */
  readonly problem: string | null;
  readonly machineCount: number;
  readonly rentalCount: number;
  readonly findings: readonly Finding[];
  /** A rental was changed meanwhile, and its machine is not as it should be: only the next comparison can tell why. */
  readonly isUnsettled: boolean;
  /** Null where the engine did not answer. */
  readonly strays: StrayPlan | null;
  readonly addresses: readonly FoundAddress[];
  /** What the engine listed, if machines of this cluster were written off and may still exist. */
  readonly writtenOff: {
    readonly externalIds: readonly string[];
    readonly unseen: readonly string[];
  } | null;
}

/** Null: the cluster is gone. */
export async function lookAt(parts: LookParts, comparison: Comparison): Promise<LookResult | null> {
  const cluster = await findCluster(parts.db, comparison.clusterId);
  if (cluster === null || cluster.status === 'removed') return null;
  const now = parts.db.clock.now();
  const list = await listMachines(parts, cluster);
  // Read after the list: whatever the engine has was written down before it was asked for.
  const known = await listKnown(parts.db, cluster.id);
  const seen = 'problem' in list ? null : list;
  const subjects = await look(parts, { clusterId: cluster.id, list: seen, known });
  const missing = subjects.flatMap(({ machines }) => machines).filter(({ sight }) => sight === 'missing');
  const scene: Scene = {
    now,
    answered: seen !== null,
    isSilent: cluster.status === 'silent',
    watchingSince: comparison.watchingSince,
    wholeAt: comparison.wholeAt,
    isVanishingHeld: isTooMany(missing.length, known.length, {
      floor: parts.policy.vanishedFloor,
      percent: parts.policy.vanishedPercent,
    }),
    policy: parts.policy,
  };
  return {
    cluster,
    scene,
    problem: 'problem' in list ? list.problem : null,
    machineCount: known.length,
    rentalCount: subjects.length,
    findings: await judgeAll(parts.db, subjects, scene),
    isUnsettled: subjects.some(
      ({ rental, machines }) =>
        isOlder(scene, rental) && machines.some(({ sight }) => troubles.includes(sight)),
    ),
    strays: seen === null ? null : await lookForStrays(parts, { comparison, scene, known, list: seen }),
    addresses: seen === null ? [] : addressesOf(known, seen.listed),
    writtenOff: await lookForWriteOffs(parts.db, cluster.id, seen),
  };
}

async function lookForWriteOffs(
  db: Db,
  clusterId: ClusterId,
  list: ListedMachines | null,
): Promise<LookResult['writtenOff']> {
  if (list === null || (await listWithheld(db, clusterId)).size === 0) return null;
  const externalIds = [...list.listed.values()].map(({ externalId }) => externalId);
  return { externalIds, unseen: [...list.unseen] };
}

function addressesOf(known: readonly KnownMachine[], listed: Listed): readonly FoundAddress[] {
  return known.flatMap((machine) => {
    if (machine.state !== 'open' || machine.privateIp !== null) return [];
    const privateIp = listed.get(keyOf(machine))?.privateIps[0];
    const { orgId, rentalId, externalId } = machine;
    return privateIp === undefined ? [] : [{ orgId, rentalId, externalId, privateIp }];
  });
}

const unfilteredGauge = gauge(
  'millrace_machines_without_filters',
  'Machines whose host does not filter their addresses, by cluster; they get filters at their next start',
);

const troubles: readonly Sight[] = ['broken', 'missing', 'unheard'];

interface ListedMachines {
  readonly listed: Listed;
  readonly unseen: ReadonlySet<string>;
}

async function listMachines(
  { clock, drivers, policy }: LookParts,
  cluster: ClusterRecord,
): Promise<ListedMachines | { readonly problem: string }> {
  // Whoever says nothing must not keep others from being compared: a host of a supplier has few machines to list, and
  // of an engine that is known to be silent it is only asked whether it is back.
  const isShort = cluster.status === 'silent' || cluster.supplierOrgId !== null;
  const timeoutMs = isShort ? policy.shortListTimeoutMs : policy.listTimeoutMs;
  try {
    const owned = await withDeadline(clock, 'Listing machines', timeoutMs, async (signal) =>
      (await drivers(cluster.id)).listOwned(signal),
    );
    const unfiltered = owned.machines.filter(({ isUnfiltered }) => isUnfiltered === true);
    unfilteredGauge.record(unfiltered.length, { cluster: cluster.name });
    return { listed: listedOf(owned), unseen: new Set(owned.unseen) };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

interface Subject {
  readonly first: KnownMachine;
  readonly rental: JudgedRental;
  readonly machines: readonly (SeenMachine & { readonly nodeId: NodeId })[];
}

/** The rentals that are compared, with what the engine says of each of their machines. */
async function look(
  parts: LookParts,
  facts: {
    readonly clusterId: ClusterId;
    readonly list: ListedMachines | null;
    readonly known: readonly KnownMachine[];
  },
): Promise<readonly Subject[]> {
  const present = facts.known.filter(
    ({ attempt, state, rental }) =>
      attempt === rental.attempt &&
      state !== 'doomed' &&
      (rental.status === 'Running' || rental.status === 'Unknown'),
  );
  const groups = [...Map.groupBy(present, ({ rentalId }) => rentalId).values()].filter((machines) =>
    // One that is only coming up is the business of whoever brings it up.
    machines.every(({ state }) => state === 'open'),
  );
  const sights = new Map<KnownMachine, Sight>();
  const doubtful: KnownMachine[] = [];
  for (const machine of groups.flat()) {
    const sight = firstSight(machine, facts.list);
    if (sight !== 'doubtful') sights.set(machine, sight);
    // A list that takes long may have met it before its start had ended: that it is off must still be so.
    if (sight === 'doubtful' || (sight === 'off' && isMeantOn(machine))) doubtful.push(machine);
  }
  await lookClosely(parts, facts.clusterId, doubtful, sights);
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
        // Of those that there was no time to ask about nothing is known.
        sight: sights.get(machine) ?? ('unheard' as const),
      })),
    };
  });
}

const isMeantOn = ({ rental }: KnownMachine): boolean => rental.task === null && rental.power === 'on';

const CLOSE_LOOKS_AT_ONCE = 8;

async function lookClosely(
  { clock, drivers, policy }: LookParts,
  clusterId: ClusterId,
  doubtful: readonly KnownMachine[],
  sights: Map<KnownMachine, Sight>,
): Promise<void> {
  const asked = doubtful.slice(0, policy.closeLooks);
  if (asked.length === 0) return;
  await withDeadline(clock, 'Describing machines', policy.closeLooksMs, async (signal) => {
    const driver = await drivers(clusterId);
    await inTurns(asked, CLOSE_LOOKS_AT_ONCE, async (machine) => {
      const view: MachineView | null | undefined = signal.aborted
        ? undefined
        : await driver.describe(machine, signal).catch(() => undefined);
      if (view !== undefined) sights.set(machine, closeSight(view));
    });
  }).catch(() => undefined);
}

/** So many at a time, whatever becomes of each. */
export async function inTurns<T>(
  all: readonly T[],
  atOnce: number,
  work: (one: T) => Promise<void>,
): Promise<void> {
  const queue = [...all];
  const lane = async (): Promise<void> => {
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) await work(one);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, all.length) }, lane));
}

async function judgeAll(db: Db, subjects: readonly Subject[], scene: Scene): Promise<readonly Finding[]> {
  // Most are on and as they should be: their maintenance is not asked for.
  const odd = subjects.filter(
    ({ rental, machines }) =>
      rental.status === 'Unknown' ||
      rental.billingPausedAt !== null ||
      rental.troubleSince !== null ||
      machines.some(({ sight, absentSeen }) => sight !== rental.power || absentSeen > 0),
  );
  const windows = await windowsFor(
    db,
    scene,
    odd.map(({ rental, machines }) => ({ rental, nodeIds: machines.map(({ nodeId }) => nodeId) })),
  );
  return odd.flatMap(({ first, rental, machines }, index) => {
    const repairs = judge({ rental, machines, windows: windows[index] ?? [] }, scene);
    if (repairs.length === 0) return [];
    return {
      orgId: first.orgId,
      rentalId: first.rentalId,
      wireId: first.rental.wireId,
      externalId: first.externalId,
      attempt: first.attempt,
      sights: new Map(machines.map(({ position, sight }) => [position, sight])),
      repairs,
    };
  });
}

async function lookForStrays(
  { db, mayHaveLostRow = () => false }: LookParts,
  facts: {
    readonly comparison: Comparison;
    readonly scene: Scene;
    readonly known: readonly KnownMachine[];
    readonly list: ListedMachines;
  },
): Promise<StrayPlan> {
  const { comparison, scene, list } = facts;
  const known = new Set(facts.known.map(keyOf));
  const unknown = [...list.listed].flatMap(([key, view]) => (known.has(key) ? [] : [view]));
  return planStrays({
    now: scene.now,
    unknown,
    listedCount: list.listed.size,
    unseen: list.unseen,
    remembered: await listStrays(db, comparison.clusterId),
    elsewhere: await findElsewhere(
      db,
      unknown.map(({ externalId }) => externalId),
    ),
    reapAllowedUntil: comparison.reapAllowedUntil,
    mayHaveLostRow,
    policy: scene.policy,
  });
}
