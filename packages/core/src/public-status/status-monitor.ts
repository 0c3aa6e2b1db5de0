import { readFile } from 'node:fs/promises';
import { withDeadline, type Clock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { startLoop, type Loop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import { listPlannedMaintenance, type PlannedMaintenance } from '../fleet/index.ts';
import type { HealthReader, HealthReadings } from '../operator-health/index.ts';
import { findIncidents, type Incident } from './incidents.ts';
import { publicStatus, type OpenIncident, type PublicStatus, type StatusFacts } from './public-status.ts';

export interface StatusMonitorDeps {
  readonly health: HealthReader;
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Logger;
  /** A text of the operator, read in each check. Null: none. */
  readonly noticeFile: string | null;
}

export interface StatusMonitor {
  /** The result of the last check, from memory. */
  current(): PublicStatus;
  check(): Promise<void>;
  start(): Loop;
}

const CHECK_EVERY_MS = 10_000;
const MAINTENANCE_TIMEOUT_MS = 3_000;
/** A restart of a process or one lost packet is not published. */
const CONFIRM_MS = 15_000;
/** After several missed checks the last result says nothing about now. */
const OLD_MS = 120_000;
const NOTICE_LENGTH_MAX = 2_000;

interface Seen {
  readonly incident: Incident;
  readonly firstMs: number;
  readonly since: Date;
}

interface Checked {
  readonly facts: Omit<StatusFacts, 'isOld'>;
  readonly atMs: number;
}

const unchecked: StatusFacts = {
  ...{ incidents: [], regions: [], maintenance: [], notice: null },
  ...{ checkedAt: null, completeCheckAt: null, isOld: true },
};

/** Checks in the background, so that a request costs the same whatever fails and however many people ask. */
export function createStatusMonitor(deps: StatusMonitorDeps): StatusMonitor {
  const { health, clock, log } = deps;
  let seen: ReadonlyMap<string, Seen> = new Map();
  let fleet: HealthReadings['fleet'] = null;
  let maintenance: readonly PlannedMaintenance[] = [];
  let completeCheckAt: Date | null = null;
  let checked: Checked | null = null;

  const confirmed = (found: readonly Incident[], now: Date): readonly OpenIncident[] => {
    const nowMs = clock.monotonicMs();
    seen = new Map(
      found.map((incident) => {
        const { firstMs = nowMs, since = now } = seen.get(incident.id) ?? {};
        return [incident.id, { incident, firstMs, since }];
      }),
    );
    return [...seen.values()]
      .filter(({ firstMs }) => nowMs - firstMs >= CONFIRM_MS)
      .map(({ incident, since }) => ({ ...incident, since }));
  };

  const check = async (): Promise<void> => {
    const { readings, unread, readAt } = await health.read();
    const planned = await readMaintenance(deps, readAt);
    // Sections that cannot be read keep the values of the last check that could.
    fleet = readings.fleet ?? fleet;
    maintenance = planned ?? maintenance;
    if (unread.length === 0 && planned !== null) completeCheckAt = readAt;
    const incidents = confirmed(findIncidents({ ...readings, fleet }), readAt);
    const regions = (fleet?.regions ?? []).map(({ region }) => region);
    const notice = await readNotice(deps);
    const facts = { incidents, regions, maintenance, notice, checkedAt: readAt, completeCheckAt };
    checked = { facts, atMs: clock.monotonicMs() };
  };

  return {
    check,
    current: () => {
      if (checked === null) return publicStatus(unchecked);
      return publicStatus({ ...checked.facts, isOld: clock.monotonicMs() - checked.atMs >= OLD_MS });
    },
    start: () =>
      startLoop({ name: 'check the public status', idleMs: CHECK_EVERY_MS, clock, log }, async () => {
        await check();
        return 'idle';
      }),
  };
}

/** Null if the database does not answer in time. */
async function readMaintenance(
  { db, clock, log }: StatusMonitorDeps,
  now: Date,
): Promise<readonly PlannedMaintenance[] | null> {
  try {
    return await withDeadline(clock, 'Reading maintenance', MAINTENANCE_TIMEOUT_MS, () =>
      listPlannedMaintenance(db, now),
    );
  } catch (error) {
    log.warn({ err: error }, 'planned maintenance could not be read for the public status page');
    return null;
  }
}

/** Null if the file is empty or absent: an operator removes it to end the notice. */
async function readNotice({ noticeFile, log }: StatusMonitorDeps): Promise<string | null> {
  if (noticeFile === null) return null;
  try {
    const text = (await readFile(noticeFile, 'utf8')).trim();
    return text === '' ? null : text.slice(0, NOTICE_LENGTH_MAX);
  } catch (error) {
    const isAbsent = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (!isAbsent) log.warn({ err: error }, 'the notice of the public status page could not be read');
    return null;
  }
}
