import type { MachineView } from '@millrace/compute';
import type { OrgId } from '@millrace/platform/ids';
import { exceedsFloorAndPercent, type InventoryPolicy } from './plan-repairs.ts';

/** Decides which machines at an engine are orphans and which of them are removed. Pure. */

export interface RecordedOrphan {
  readonly orgId: OrgId;
  readonly externalId: string;
  readonly nodeName: string;
  readonly firstSeenAt: Date;
  readonly removalStartedAt: Date | null;
}

/** An orphan that the engine lists. */
export interface OrphanMachine extends RecordedOrphan {
  /** As reported by the engine. */
  readonly createdAt: Date | null;
}

/** The row of a machine that this cluster does not have. */
export interface RecordedMachine {
  /** A rental has, or might have, the machine on another cluster. */
  readonly isLive: boolean;
  readonly rentalCreatedAt: Date;
}

export interface OrphanPlanInput {
  readonly now: Date;
  /** Listed by the engine but without a row on this cluster. */
  readonly unknown: readonly MachineView[];
  readonly listedCount: number;
  readonly unreachableNodes: ReadonlySet<string>;
  readonly remembered: readonly RecordedOrphan[];
  readonly recorded: ReadonlyMap<string, RecordedMachine>;
  readonly removalAllowedUntil: Date | null;
  /** Whether a restore may have lost the machine's rental. Such a machine is removed only with an operator's approval. */
  readonly mayHaveLostRow: (machine: Pick<OrphanMachine, 'firstSeenAt' | 'createdAt'>) => boolean;
  readonly policy: InventoryPolicy;
}

export interface OrphanPlan {
  /** Seen for the first time. */
  readonly fresh: readonly MachineView[];
  /** Seen before, but first seen too recently to be removed. */
  readonly waiting: readonly OrphanMachine[];
  /** Removed now. */
  readonly remove: readonly OrphanMachine[];
  /** Removed after an operator's approval, or in a later comparison. */
  readonly held: readonly OrphanMachine[];
  /** There are too many for removal without approval. */
  readonly isPersonNeeded: boolean;
  /** Removed only after an operator's approval, because a restore may have lost their rentals. */
  readonly lost: readonly OrphanMachine[];
  /** Seen for the first time, and a restore may have lost their rentals. */
  readonly freshLost: readonly MachineView[];
  /** No longer listed, or now known. */
  readonly resolved: readonly RecordedOrphan[];
  /** A rental has the machine on another cluster. Kept, because either one could be wrong. */
  readonly misplaced: readonly MachineView[];
}

const PURPOSE_LABEL = 'millrace.purpose';

const keyOf = ({ orgId, externalId }: Pick<OrphanMachine, 'orgId' | 'externalId'>): string =>
  `${orgId}/${externalId}`;

/** Machines without a rental can have another purpose for a while, such as the self-test of a host. */
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
    // An orphan on an unreachable node may still exist.
    resolved: facts.remembered.filter(
      (orphan) => !seen.has(keyOf(orphan)) && !facts.unreachableNodes.has(orphan.nodeName),
    ),
    misplaced,
  };
}
