import { enumParam, definedParams, textParam } from '../../app/search-params.ts';

export const groupings = ['day', 'product', 'model', 'key', 'rental', 'volume'] as const;
export type Grouping = (typeof groupings)[number];

export const ranges = ['7d', '31d', '90d', '366d', 'month', 'last-month', 'days'] as const;
export type Range = (typeof ranges)[number];

export const views = ['spending', 'requests'] as const;
export type View = (typeof views)[number];

export interface UsageSearch {
  readonly by?: Grouping;
  readonly range?: Range;
  /** First and last day of the range `days`, in UTC. */
  readonly from?: string;
  readonly to?: string;
  readonly request?: string;
  readonly batch?: string;
  readonly view?: View;
}

const isDay = (text: string | undefined): text is string =>
  text !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));

export function parseUsageSearch(search: Readonly<Record<string, unknown>>): UsageSearch {
  const from = textParam(search['from']);
  const to = textParam(search['to']);
  return definedParams({
    by: enumParam(search['by'], groupings),
    range: enumParam(search['range'], ranges),
    from: isDay(from) ? from : undefined,
    to: isDay(to) ? to : undefined,
    request: textParam(search['request']),
    batch: textParam(search['batch']),
    view: enumParam(search['view'], views),
  });
}

/** Links to a request or batch open the requests. */
export function viewOf({ view, request, batch }: UsageSearch): View {
  return view ?? (request === undefined && batch === undefined ? 'spending' : 'requests');
}

export interface Period {
  /** Days in UTC, both inclusive. */
  readonly firstDay: string;
  readonly lastDay: string;
  /** API period with exclusive end. */
  readonly from: string;
  readonly until: string;
}

const dayMs = 86_400_000;
/** Limit of the API. */
const daysMax = 366;
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

function between(firstMs: number, lastMs: number): Period {
  const cutMs = Math.max(firstMs, lastMs - (daysMax - 1) * dayMs);
  return {
    firstDay: dayOf(cutMs),
    lastDay: dayOf(lastMs),
    from: new Date(cutMs).toISOString(),
    until: new Date(lastMs + dayMs).toISOString(),
  };
}

/** The days of a search; a reversed custom range is swapped. */
export function usagePeriod({ range = '31d', from, to }: UsageSearch, nowMs: number): Period {
  const now = new Date(nowMs);
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  const todayMs = Date.parse(dayOf(nowMs));
  switch (range) {
    case '7d':
    case '31d':
    case '90d':
    case '366d':
      return between(todayMs - (Number.parseInt(range, 10) - 1) * dayMs, todayMs);
    case 'month':
      return between(Date.UTC(year, month, 1), todayMs);
    case 'last-month':
      return between(Date.UTC(year, month - 1, 1), Date.UTC(year, month, 0));
    case 'days': {
      const last = Math.min(to === undefined ? todayMs : Date.parse(to), todayMs);
      const first = from === undefined ? last - 30 * dayMs : Math.min(Date.parse(from), todayMs);
      return between(Math.min(first, last), Math.max(first, last));
    }
  }
}
