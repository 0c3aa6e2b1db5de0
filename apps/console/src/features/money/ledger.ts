import type { Item } from '@millrace/sdk';

/** Texts of ledger entries and filters of the ledger page. */

export type Entry = Item<'listLedgerEntries'>;
export type EntryKind = Entry['kind'];

export const entryKinds = {
  charge: 'Charge',
  credit: 'Credit',
  top_up: 'Top-up',
  grant: 'Grant',
  adjustment: 'Adjustment',
  refund: 'Refund',
  reversal: 'Reversal',
  clawback: 'Clawback',
  expiry: 'Credit expired',
  payout: 'Payout',
} as const satisfies Record<EntryKind, string>;

export const causeKinds = {
  rental: 'Rentals',
  volume: 'Volumes',
  instance: 'Instances',
  inference: 'Inference',
  payment: 'Top-ups',
  operator: 'Operator',
} as const satisfies Record<string, string>;

export function entryKindText(kind: string): string {
  return Object.hasOwn(entryKinds, kind) ? entryKinds[kind as EntryKind] : kind.replaceAll('_', ' ');
}

export interface CauseLink {
  readonly to: string;
  readonly search?: { readonly request: string } | { readonly batch: string } | { readonly resource: string };
  readonly label: string;
}

/** Page of the cause; null if there is none. */
export function causeLink({ kind, id }: Entry['cause']): CauseLink | null {
  const part = encodeURIComponent(id);
  switch (kind) {
    case 'rental':
      return { to: `/rentals/${part}`, label: `Rental ${id}` };
    case 'volume':
      return { to: `/volumes/${part}`, label: `Volume ${id}` };
    case 'instance':
      return { to: `/instances/${part}`, label: `Instance ${id}` };
    case 'inference':
      // An entry sums the requests of a batch. Entries of older versions name a single request.
      return {
        to: '/usage',
        search: id.startsWith('bat_') ? { batch: id } : { request: id },
        label: 'Inference requests',
      };
    case 'payment':
      return { to: '/money', label: 'Top-ups' };
    default:
      return null;
  }
}

/** The audit log has the reason of an operator's entry. */
export function entryLink({ id, cause }: Pick<Entry, 'id' | 'cause'>): CauseLink | null {
  if (cause.kind !== 'operator') return causeLink(cause);
  return { to: '/audit', search: { resource: id }, label: 'Operator: reason' };
}

const day = /^\d{4}-\d{2}-\d{2}$/;

export interface LedgerSearch {
  readonly kind?: EntryKind;
  readonly causeKind?: string;
  readonly causeId?: string;
  /** Local dates, both inclusive. */
  readonly from?: string;
  readonly until?: string;
}

function text(value: unknown, most: number): string | undefined {
  const words = typeof value === 'number' ? String(value) : value;
  return typeof words === 'string' && words !== '' && words.length <= most ? words : undefined;
}

const isDay = (words: string | undefined): words is string =>
  words !== undefined && day.test(words) && !Number.isNaN(Date.parse(words));

/** Reads the filters of the URL and drops invalid ones. */
export function parseLedgerSearch(search: Readonly<Record<string, unknown>>): LedgerSearch {
  const kind = text(search['kind'], 64);
  const causeKind = text(search['causeKind'], 64);
  const causeId = text(search['causeId'], 100);
  const [from, until] = [text(search['from'], 10), text(search['until'], 10)];
  return {
    ...(kind !== undefined && Object.hasOwn(entryKinds, kind) ? { kind: kind as EntryKind } : {}),
    ...(causeKind === undefined ? {} : { causeKind }),
    // Ids are unique only within a kind.
    ...(causeKind === undefined || causeId === undefined ? {} : { causeId }),
    ...(isDay(from) ? { from } : {}),
    ...(isDay(until) ? { until } : {}),
  };
}

/** Start of a local day, plus `daysLater` days. */
function startOf(words: string, daysLater = 0): string {
  const [year = 0, month = 1, date = 1] = words.split('-').map(Number);
  return new Date(year, month - 1, date + daysLater).toISOString();
}

/** The period as the API expects it; it includes the day of `until`. */
export function ledgerPeriod({ from, until }: Pick<LedgerSearch, 'from' | 'until'>): {
  readonly from?: string;
  readonly until?: string;
} {
  return {
    ...(from === undefined ? {} : { from: startOf(from) }),
    ...(until === undefined ? {} : { until: startOf(until, 1) }),
  };
}

export function ledgerCommand({ kind, causeKind, causeId, from, until }: LedgerSearch): string {
  const cause = causeKind === undefined ? [] : ['--cause', [causeKind, causeId].filter(Boolean).join(':')];
  return [
    'millrace ledger',
    ...(kind === undefined ? [] : ['--kind', kind]),
    ...cause,
    ...(from === undefined ? [] : ['--from', from]),
    ...(until === undefined ? [] : ['--until', ledgerPeriod({ until }).until ?? until]),
  ].join(' ');
}
