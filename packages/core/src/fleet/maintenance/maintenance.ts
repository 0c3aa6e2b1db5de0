import type { EventData, MachineState } from '@millrace/contract';
import type { Mode } from '@millrace/platform/envelope';
import type { AllocationId, MaintenanceId, NodeId, OrgId } from '@millrace/platform/ids';

/** When nodes are away, what that means for them, and who has to know. Pure: the time and the facts are told. */

export type WindowStatus = 'announced' | 'in_progress' | 'completed' | 'cancelled';

export interface MaintenanceWindow {
  readonly id: MaintenanceId;
  /** What is done, in words for the tenants. */
  readonly summary: string;
  readonly status: WindowStatus;
  /** From then on nothing new is placed on its nodes. */
  readonly drainsAt: Date;
  readonly startsAt: Date;
  readonly endsAt: Date;
  /** When it was over: `endsAt`, or when it was called off. Before `startsAt`: it never began. */
  readonly endedAt: Date | null;
  readonly createdAt: Date;
}

/** A day: long enough that most of what runs for hours has ended by itself when the window begins. */
export const DRAIN_LEAD_MS = 24 * 60 * 60 * 1000;

/** Clocks differ, and a form is filled in before it is sent: a start that has just passed means now. */
const LATE_START_TOLERANCE_MS = 5 * 60 * 1000;
const WINDOW_MAX_MS = 31 * 24 * 60 * 60 * 1000;
const WINDOW_MAX_AHEAD_MS = 366 * 24 * 60 * 60 * 1000;

export interface WindowTimes {
  readonly startsAt: Date;
  readonly endsAt: Date;
}

/** What is wrong with the times of a window that somebody wants to announce; null when nothing is. */
export function windowTimesProblem(
  { startsAt, endsAt }: WindowTimes,
  now: Date,
): { readonly field: 'startsAt' | 'endsAt'; readonly message: string } | null {
  const start = startsAt.getTime();
  const end = endsAt.getTime();
  if (end <= start) return { field: 'endsAt', message: 'must be after startsAt' };
  if (end <= now.getTime()) return { field: 'endsAt', message: 'must be in the future' };
  if (start < now.getTime() - LATE_START_TOLERANCE_MS)
    return { field: 'startsAt', message: 'must not be in the past' };
  if (start > now.getTime() + WINDOW_MAX_AHEAD_MS) {
    return { field: 'startsAt', message: 'must be within the next 366 days' };
  }
  if (end - start > WINDOW_MAX_MS) return { field: 'endsAt', message: 'must be within 31 days of startsAt' };
  return null;
}

export function isWindowOpen(window: Pick<MaintenanceWindow, 'status'>): boolean {
  return window.status === 'announced' || window.status === 'in_progress';
}

/**
 * What a window is by its times, however long nobody looked. What was called off stays called off, and nothing goes
 * back: a clock that is set back reopens no window.
 */
export function statusAt(window: MaintenanceWindow, now: Date): WindowStatus {
  if (!isWindowOpen(window)) return window.status;
  if (now >= window.endsAt) return 'completed';
  return now >= window.startsAt ? 'in_progress' : window.status;
}

/** Whether its nodes are to take nothing new. */
export function drainsNodes(window: MaintenanceWindow, now: Date): boolean {
  return isWindowOpen(window) && now >= window.drainsAt && now < window.endsAt;
}

/** What a node is, or will be when it is back: a window thinks of a node that is away as if it were there. */
export function effectiveStateOf(node: {
  readonly status: MachineState;
  readonly backTo: MachineState | null;
}): MachineState {
  return node.backTo ?? node.status;
}

/**
 * What a window does about a node that it does not hold yet. `hold`: it drains it, or joins another window that did,
 * and gives it back. `leave`: an operator drained it, and only they put it back. `wait`: it takes nothing new anyhow,
 * and is looked at again when it does.
 */
export function drainDecision(standing: MachineState, isHeldByOther: boolean): 'hold' | 'leave' | 'wait' {
  switch (standing) {
    case 'node_ready':
      return 'hold';
    case 'node_draining':
      return isHeldByOther ? 'hold' : 'leave';
    case 'node_registering':
    case 'node_offline':
    case 'node_quarantined':
      return 'wait';
    case 'node_removed':
      return 'leave';
  }
}

/** Whether a node goes back into use once the window that held it is over. */
export function returnsToService(standing: MachineState, isHeldByOther: boolean): boolean {
  return standing === 'node_draining' && !isHeldByOther;
}

/** The last that an organisation was told of a window. */
export type NoticeKind = 'announced' | 'started' | 'ended';

/** What they are to be told, as things stand. What was passed over while nobody looked is not told late. */
export function noticeKindFor(status: WindowStatus): NoticeKind {
  switch (status) {
    case 'announced':
      return 'announced';
    case 'in_progress':
      return 'started';
    case 'completed':
    case 'cancelled':
      return 'ended';
  }
}

/** An allocation on nodes of a window. */
export interface AffectedAllocation {
  readonly allocationId: AllocationId;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly externalId: string;
  readonly nodeIds: readonly NodeId[];
}

export interface MaintenanceNotice {
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly data: EventData<'maintenance.announced'>;
}

/** One notice for each organisation and mode, which names what is theirs and nothing of anybody else. */
export function noticesOf(
  window: MaintenanceWindow,
  touched: readonly AffectedAllocation[],
): readonly MaintenanceNotice[] {
  const groups = Map.groupBy(touched, ({ orgId, mode }) => `${orgId} ${mode}`);
  return [...groups.values()].flatMap((theirs) => {
    const [first] = theirs;
    if (first === undefined) return [];
    const nodeIds = [...new Set(theirs.flatMap((each) => each.nodeIds))].toSorted();
    return {
      orgId: first.orgId,
      mode: first.mode,
      data: {
        maintenanceId: window.id,
        nodeIds,
        rentalIds: [],
        externalIds: theirs.map((each) => each.externalId).toSorted(),
        startsAt: window.startsAt.toISOString(),
        endsAt: window.endsAt.toISOString(),
        summary: window.summary,
      },
    };
  });
}
