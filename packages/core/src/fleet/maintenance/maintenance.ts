import type { EventData, MachineState } from '@millrace/contract';
import type { Mode } from '@millrace/platform/envelope';
import type { AllocationId, MaintenanceId, NodeId, OrgId } from '@millrace/platform/ids';

/** Rules for maintenance windows: their status, the nodes they drain and the notices they need. Pure. */

export type WindowStatus = 'announced' | 'in_progress' | 'completed' | 'cancelled';

export interface MaintenanceWindow {
  readonly id: MaintenanceId;
  /** Shown to tenants. */
  readonly summary: string;
  readonly status: WindowStatus;
  /** From this time on, nothing new is placed on the nodes. */
  readonly drainsAt: Date;
  readonly startsAt: Date;
  readonly endsAt: Date;
  /** `endsAt`, or the time of the cancellation. A time before `startsAt` means that the window never started. */
  readonly endedAt: Date | null;
  readonly createdAt: Date;
}

/** Most rentals of some hours end by themselves within a day. */
export const DRAIN_LEAD_MS = 24 * 60 * 60 * 1000;

/** Clocks differ, and filling in a form takes time: a start that has just passed means now. */
const LATE_START_TOLERANCE_MS = 5 * 60 * 1000;
const WINDOW_MAX_MS = 31 * 24 * 60 * 60 * 1000;
const WINDOW_MAX_AHEAD_MS = 366 * 24 * 60 * 60 * 1000;

export interface WindowTimes {
  readonly startsAt: Date;
  readonly endsAt: Date;
}

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

/** The status by the window's times, however late it is checked. A clock set back reopens no window. */
export function statusAt(window: MaintenanceWindow, now: Date): WindowStatus {
  if (!isWindowOpen(window)) return window.status;
  if (now >= window.endsAt) return 'completed';
  return now >= window.startsAt ? 'in_progress' : window.status;
}

export function drainsNodes(window: MaintenanceWindow, now: Date): boolean {
  return isWindowOpen(window) && now >= window.drainsAt && now < window.endsAt;
}

/** Windows treat an offline node as if it had its return status. */
export function effectiveStateOf(node: {
  readonly status: MachineState;
  readonly backTo: MachineState | null;
}): MachineState {
  return node.backTo ?? node.status;
}

/**
 * `hold`: the window drains the node, or joins another window that did, and returns it at the end. `leave`: an operator
 * drained the node, so only an operator resumes it. `wait`: the node accepts nothing now; check again later.
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

export function returnsToService(standing: MachineState, isHeldByOther: boolean): boolean {
  return standing === 'node_draining' && !isHeldByOther;
}

/** The latest notice that an organisation got about a window. */
export type NoticeKind = 'announced' | 'started' | 'ended';

/** Notices that were missed while no worker ran are skipped. */
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

/** An allocation on nodes of a maintenance window. */
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

/** One notice per organisation and mode, which names only their own allocations. */
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
