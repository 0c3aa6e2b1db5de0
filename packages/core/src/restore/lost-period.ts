/** The time whose rows restores have taken. Pure. */
export interface LostPeriod {
  /** The earliest point that the database was restored to; null: not known. */
  readonly from: Date | null;
  /** When the last restore was confirmed. */
  readonly until: Date;
}

/** Null: no restore was confirmed. */
export function lostPeriodOf(state: {
  readonly lostFrom: Date | null;
  readonly confirmedAt: Date | null;
}): LostPeriod | null {
  const { lostFrom: from, confirmedAt: until } = state;
  return until === null ? null : { from, until };
}

/** A machine without a row. */
export interface UnknownMachine {
  readonly firstSeenAt: Date;
  /** As its engine says. */
  readonly createdAt: Date | null;
}

/** Engines date machines by clocks of their own. */
const ENGINE_CLOCK_TOLERANCE_MS = 10 * 60_000;

/**
 * A machine that was seen before the confirmation, or created in the lost time, may belong to a tenant whose rental was lost. So may
 * one without a creation time.
 */
export function mayHaveLostRow(lost: LostPeriod | null, { firstSeenAt, createdAt }: UnknownMachine): boolean {
  if (lost === null) return false;
  if (firstSeenAt <= lost.until || createdAt === null) return true;
  const isAfterPoint =
    lost.from === null || createdAt.getTime() >= lost.from.getTime() - ENGINE_CLOCK_TOLERANCE_MS;
  return isAfterPoint && createdAt.getTime() <= lost.until.getTime() + ENGINE_CLOCK_TOLERANCE_MS;
}
