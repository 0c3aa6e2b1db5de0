import type { MachineView } from '@millrace/compute';
import type { OrgId } from '@millrace/platform/ids';
import { exceedsFloorAndPercent, type InventoryPolicy } from './plan-repairs.ts';

/** Machines of ours at an engine that no rental knows. Pure. */

/** A stray as it is remembered. */
export interface RecordedOrphan {
  readonly orgId: OrgId;
  readonly externalId: string;
  readonly nodeName: string;
  readonly firstSeenAt: Date;
  readonly removalStartedAt: Date | null;
}

/** A stray that the engine lists. */
export interface OrphanMachine extends RecordedOrphan {
  /** As the engine says. */
  readonly createdAt: Date | null;
}

/** What the rows say of a machine that is not known as one of this cluster's. */
export interface RecordedMachine {
  /** It belongs to a rental that has it, or may have it, on another cluster. */
  readonly isLive: boolean;
  readonly rentalCreatedAt: Date;
}

export interface OrphanPlanInput {
  readonly now: Date;
  /** Listed by the engine and not known on this cluster. */
  readonly unknown: readonly MachineView[];
  /** How many machines the engine lists. */
  readonly listedCount: number;
  readonly unreachableNodes: ReadonlySet<string>;
  readonly remembered: readonly RecordedOrphan[];
  readonly recorded: ReadonlyMap<string, RecordedMachine>;
  readonly removalAllowedUntil: Date | null;
  /** Whether its rental may have been lost by a restore. Such a machine is removed only where an operator has allowed it. */
  readonly mayHaveLostRow: (machine: Pick<OrphanMachine, 'firstSeenAt' | 'createdAt'>) => boolean;
  readonly policy: InventoryPolicy;
}

export interface OrphanPlan {
  /** Seen for the first time. */
  readonly fresh: readonly MachineView[];
  /** Seen before, and not long enough ago. */
  readonly waiting: readonly OrphanMachine[];
  /** To be removed now. */
  readonly remove: readonly OrphanMachine[];
  /** To be removed once a person says so, or in a later comparison. */
  readonly held: readonly OrphanMachine[];
  /** More than is removed unasked. */
  readonly isPersonNeeded: boolean;
  /** To be removed only once an operator says so: their rentals may have been lost by a restore. */
  readonly lost: readonly OrphanMachine[];
  /** Those that are seen for the first time and whose rentals may have been lost by a restore. */
  readonly freshLost: readonly MachineView[];
  /** Not there any more, or known by now. */
  readonly resolved: readonly RecordedOrphan[];
  /** A rental has it on another cluster. Nothing is done: either could be the wrong one. */
  readonly misplaced: readonly MachineView[];
}

const PURPOSE_LABEL = 'millrace.purpose';

const keyOf = ({ orgId, externalId }: Pick<OrphanMachine, 'orgId' | 'externalId'>): string =>
  `${orgId}/${externalId}`;

/** What is not rented can be of use all the same for a while, as the machine by which a host is tested. */
function hasOtherPurpose({ labels, createdAt }: MachineView, { now, policy }: OrphanPlanInput): boolean {
  if (labels[PURPOSE_LABEL] === undefined || createdAt === null) return false;
  return now.getTime() - createdAt.getTime() < policy.purposeAfterMs;
}

export function planOrphans(facts: OrphanPlanInput): OrphanPlan {
  const { now, policy } = facts;
  const misplaced = facts.unknown.filter(({ externalId }) => facts.recorded.get(externalId)?.isLive === true);
  const orphans = facts.unknown.filter(
    (machine) => !misplaced.includes(machine) && !hasOtherPurpose(machine, facts),
  );
  const remembered = new Map(facts.remembered.map((orphan) => [keyOf(orphan), orphan]));
  const seen = new Map(orphans.map((machine) => [keyOf(machine), machine]));
  const again = facts.remembered.flatMap((orphan) => {
    const machine = seen.get(keyOf(orphan));
    return machine === undefined ? [] : [{ ...orphan, createdAt: machine.createdAt }];
  });
  const isOldEnough = (orphan: OrphanMachine): boolean => {
    const rentedAt = facts.recorded.get(orphan.externalId)?.rentalCreatedAt ?? null;
    return [orphan.firstSeenAt, orphan.createdAt, rentedAt].every(
      (when) => when === null || now.getTime() - when.getTime() >= policy.orphanAfterMs,
    );
  };
  const isAllowed = facts.removalAllowedUntil !== null && facts.removalAllowedUntil > now;
  const lost = isAllowed ? [] : again.filter((orphan) => isOldEnough(orphan) && facts.mayHaveLostRow(orphan));
  const removable = again.filter((orphan) => isOldEnough(orphan) && !lost.includes(orphan));
  const fresh = orphans.filter((machine) => !remembered.has(keyOf(machine)));
  const limit = { floor: policy.removalFloor, percent: policy.removalPercent };
  const isPersonNeeded = !isAllowed && exceedsFloorAndPercent(removable.length, facts.listedCount, limit);
  const remove = isPersonNeeded ? [] : removable.slice(0, policy.removalsAtOnce);
  return {
    fresh,
    freshLost: fresh.filter(({ createdAt }) => facts.mayHaveLostRow({ firstSeenAt: now, createdAt })),
    lost,
    waiting: again.filter((orphan) => !isOldEnough(orphan)),
    remove,
    held: removable.slice(remove.length),
    isPersonNeeded,
    // One on a node that nobody could ask may still be there.
    resolved: facts.remembered.filter(
      (orphan) => !seen.has(keyOf(orphan)) && !facts.unreachableNodes.has(orphan.nodeName),
    ),
    misplaced,
  };
}
