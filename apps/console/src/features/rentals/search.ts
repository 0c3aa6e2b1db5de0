import { definedParams, enumParam, textParam } from '../../app/search-params.ts';

/** URL parameters of the rental pages. */

export const periods = {
  '1h': { label: 'Last hour', seconds: 3_600 },
  '6h': { label: 'Last 6 hours', seconds: 21_600 },
  '24h': { label: 'Last day', seconds: 86_400 },
  '7d': { label: 'Last week', seconds: 604_800 },
} as const;

export type MetricsPeriod = keyof typeof periods;
export const periodNames = Object.keys(periods) as readonly MetricsPeriod[];

export const liveStatuses = ['Pending', 'Running', 'Unknown', 'Failed', 'Terminating'] as const;
export const rentalTypes = ['virtual-machine', 'bare-metal'] as const;

export interface RentalsSearch {
  /** Default: active rentals. */
  readonly view?: 'history';
  readonly status?: (typeof liveStatuses)[number];
  readonly type?: (typeof rentalTypes)[number];
  /** Local dates such as `2026-11-16`; history only. */
  readonly from?: string;
  readonly until?: string;
}

/** Null for a path that names no rental. */
export function rentalIdParam(text: string): number | null {
  return /^\d{1,10}$/.test(text) ? Number(text) : null;
}

/** A local date such as `2026-11-16`. */
export function dayParam(value: unknown): string | undefined {
  const text = textParam(value);
  return text !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text))
    ? text
    : undefined;
}

export function parseRentalsSearch(search: Readonly<Record<string, unknown>>): RentalsSearch {
  return definedParams({
    view: enumParam(search['view'], ['history']),
    status: enumParam(search['status'], liveStatuses),
    type: enumParam(search['type'], rentalTypes),
    from: dayParam(search['from']),
    until: dayParam(search['until']),
  });
}

/** Whole days: `until` is the end of its day. */
export function daysPeriod({ from, until }: Pick<RentalsSearch, 'from' | 'until'>): {
  readonly from?: string;
  readonly until?: string;
} {
  return definedParams({
    from: from === undefined ? undefined : new Date(`${from}T00:00:00`).toISOString(),
    until: until === undefined ? undefined : nextDay(until).toISOString(),
  });
}

function nextDay(day: string): Date {
  const start = new Date(`${day}T00:00:00`);
  start.setDate(start.getDate() + 1);
  return start;
}

export const rentalTabs = ['overview', 'cost', 'metrics', 'console', 'events', 'settings'] as const;
export type RentalTab = (typeof rentalTabs)[number];

export interface RentalSearch {
  readonly tab?: RentalTab;
  readonly period?: MetricsPeriod;
}

export function parseRentalSearch(search: Readonly<Record<string, unknown>>): RentalSearch {
  return definedParams({
    tab: enumParam(search['tab'], rentalTabs),
    period: enumParam(search['period'], periodNames),
  });
}
