/** Computes budget periods: whole hours, days, weeks from Monday and months, in UTC. */

export type BudgetPeriod = 'hour' | 'day' | 'week' | 'month' | 'total';

export interface PeriodBounds {
  readonly startMs: number;
  readonly endMs: number | null;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The period that contains this time. A total starts at this time and never ends. */
export function periodAt(period: BudgetPeriod, atMs: number): PeriodBounds {
  const at = new Date(atMs);
  const midnightMs = Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate());
  switch (period) {
    case 'hour': {
      const startMs = atMs - (atMs % hourMs);
      return { startMs, endMs: startMs + hourMs };
    }
    case 'day':
      return { startMs: midnightMs, endMs: midnightMs + dayMs };
    case 'week': {
      const daysSinceMonday = (at.getUTCDay() + 6) % 7;
      const startMs = midnightMs - daysSinceMonday * dayMs;
      return { startMs, endMs: startMs + 7 * dayMs };
    }
    case 'month':
      return {
        startMs: Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1),
        endMs: Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1),
      };
    case 'total':
      return { startMs: atMs, endMs: null };
  }
}
