import type { RestateDeployment } from '@millrace/platform/restate';

/** How many times in a row no worker of a deployment was running, by its id. */
export type Absences = ReadonlyMap<string, number>;

export interface DeploymentPlan {
  /** Whether new calls must go to this worker's release instead. */
  readonly takeOver: boolean;
  readonly remove: readonly RestateDeployment[];
  readonly absences: Absences;
}

/** Twice, because a worker that is restarted, or that connects to another PostgreSQL, has no sessions for a moment. */
const ABSENCES_OF_ENDED = 2;
/** Calls of an ended release run on at an address that both releases share. The others cannot end, and are killed then. */
const ABSENCES_UNTIL_REMOVAL = 8;

/**
 * New calls go to the release that was started last: to the new one in an upgrade and to the old one in a rollback. Earlier releases
 * keep their calls until their workers have ended and their calls too.
 */
export function planDeployments({
  own,
  isStart,
  deployments,
  running,
  absences,
}: {
  readonly own: string;
  /** Whether this worker registers for the first time since its start. */
  readonly isStart: boolean;
  readonly deployments: readonly RestateDeployment[];
  /** The releases of running workers. Null: up to 0.2.0, which have no name. */
  readonly running: ReadonlySet<string | null>;
  readonly absences: Absences;
}): DeploymentPlan {
  const others = deployments.filter(({ id }) => id !== own);
  const absent = new Map(
    others
      .filter(({ release }) => !running.has(release))
      .map(({ id }) => [id, (absences.get(id) ?? 0) + 1] as const),
  );
  const hasEnded = ({ id }: RestateDeployment): boolean => (absent.get(id) ?? 0) >= ABSENCES_OF_ENDED;
  const latest = others.filter(({ isLatest }) => isLatest);
  return {
    takeOver: latest.length > 0 && (isStart || latest.every(hasEnded)),
    remove: others.filter(
      (each) =>
        hasEnded(each) && (each.unfinished === 0 || (absent.get(each.id) ?? 0) >= ABSENCES_UNTIL_REMOVAL),
    ),
    absences: absent,
  };
}
