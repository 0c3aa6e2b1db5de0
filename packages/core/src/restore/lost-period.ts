/** The period whose rows may be missing after restores. Pure. */
export interface LostPeriod {
  /** The earliest restore point; null if unknown. */
  readonly from: Date | null;
  /** When the last restore was confirmed. */
  readonly until: Date;
}

/** Null if no restore was confirmed. */
export function lostPeriodOf(state: {
  readonly lostFrom: Date | null;
  readonly confirmedAt: Date | null;
}): LostPeriod | null {
  const { lostFrom: from, confirmedAt: until } = state;
  return until === null ? null : { from, until };
}

export interface UnknownMachine {
  readonly firstSeenAt: Date;
  /** As the engine reports it. */
  readonly createdAt: Date | null;
}

/** Engines have their own clocks. */
const ENGINE_CLOCK_TOLERANCE_MS = 10 * 60_000;

/** True if it was observed before the confirmation, created in the lost period, or has no creation time: its rental may be lost. */
export function mayHaveLostRow(lost: LostPeriod | null, { firstSeenAt, createdAt }: UnknownMachine): boolean {
  if (lost === null) return false;
  if (firstSeenAt <= lost.until || createdAt === null) return true;
  const isAfterPoint =
    lost.from === null || createdAt.getTime() >= lost.from.getTime() - ENGINE_CLOCK_TOLERANCE_MS;
  return isAfterPoint && createdAt.getTime() <= lost.until.getTime() + ENGINE_CLOCK_TOLERANCE_MS;
}
