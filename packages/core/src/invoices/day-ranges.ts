const dayMs = 86_400_000;

export interface TimeRange {
  readonly from: Date;
  readonly until: Date;
}

/** The UTC day that contains this time. */
export function dayOf(at: Date): TimeRange {
  const startMs = Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate());
  return { from: new Date(startMs), until: new Date(startMs + dayMs) };
}

/** Splits a time range at midnight UTC. */
export function* daysOf({ from, until }: TimeRange): Generator<TimeRange> {
  for (let start = from; start < until;) {
    const end = dayOf(start).until;
    yield { from: start, until: end < until ? end : until };
    start = end;
  }
}
