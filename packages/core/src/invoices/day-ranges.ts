const dayMs = 86_400_000;

export interface TimeRange {
  readonly from: Date;
  /** Before this instant. */
  readonly until: Date;
}

/** The first instant of the day (UTC) that holds this one, and that of the next. */
export function dayOf(at: Date): TimeRange {
  const startMs = Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate());
  return { from: new Date(startMs), until: new Date(startMs + dayMs) };
}

/** A stretch of time cut at the beginnings of days. */
export function* daysOf({ from, until }: TimeRange): Generator<TimeRange> {
  for (let start = from; start < until;) {
    const end = dayOf(start).until;
    yield { from: start, until: end < until ? end : until };
    start = end;
  }
}
