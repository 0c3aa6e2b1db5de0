import type { Item } from '@millrace/sdk';

/** The lines of the ledger in words, and the filters of its page. */

export type Entry = Item<'listLedgerEntries'>;
export type EntryKind = Entry['kind'];

export const entryKinds = {
  charge: 'Charge',
  credit: 'Given back',
  top_up: 'Top-up',
  grant: 'Credit from the operator',
  adjustment: 'Correction',
  refund: 'Refund',
  reversal: 'Reversal',
  clawback: 'Payment taken back',
  expiry: 'Credit expired',
  payout: 'Payout',
} as const satisfies Record<EntryKind, string>;

export const causeKinds = {
  rental: 'Rentals',
  volume: 'Volumes',
  instance: 'Instances',
  inference: 'Inference',
  payment: 'Top-ups',
  operator: 'The operator',
} as const satisfies Record<string, string>;

export function entryKindText(kind: string): string {
  return Object.hasOwn(entryKinds, kind) ? entryKinds[kind as EntryKind] : kind.replaceAll('_', ' ');
}

export interface CauseLink {
  readonly to: string;
  readonly search?: { readonly request: string } | { readonly batch: string };
  readonly label: string;
}

/** Where the cause of a line can be looked at; null where there is no page for it. */
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
      // A line sums the requests of a batch. Lines of older services name a single request.
      return {
        to: '/usage',
        search: id.startsWith('bat_') ? { batch: id } : { request: id },
        label: 'Requests to a model',
      };
    case 'payment':
      return { to: '/money', label: 'Top-ups' };
    default:
      return null;
  }
}

const day = /^\d{4}-\d{2}-\d{2}$/;

export interface LedgerSearch {
  readonly kind?: EntryKind;
  readonly causeKind?: string;
  readonly causeId?: string;
  /** Days of the reader, both included. */
  readonly from?: string;
  readonly until?: string;
}

function text(value: unknown, most: number): string | undefined {
  const words = typeof value === 'number' ? String(value) : value;
  return typeof words === 'string' && words !== '' && words.length <= most ? words : undefined;
}

const isDay = (words: string | undefined): words is string =>
  words !== undefined && day.test(words) && !Number.isNaN(Date.parse(words));

/** What an address says, without what is no filter. */
export function parseLedgerSearch(search: Readonly<Record<string, unknown>>): LedgerSearch {
  const kind = text(search['kind'], 64);
  const causeKind = text(search['causeKind'], 64);
  const causeId = text(search['causeId'], 100);
  const [from, until] = [text(search['from'], 10), text(search['until'], 10)];
  return {
    ...(kind !== undefined && Object.hasOwn(entryKinds, kind) ? { kind: kind as EntryKind } : {}),
    ...(causeKind === undefined ? {} : { causeKind }),
    // An id alone names nothing: ids are told apart by their kind.
    ...(causeKind === undefined || causeId === undefined ? {} : { causeId }),
    ...(isDay(from) ? { from } : {}),
    ...(isDay(until) ? { until } : {}),
  };
}

/** The first moment of a day of the reader, some days later if asked. */
function startOf(words: string, daysLater = 0): string {
  const [year = 0, month = 1, date = 1] = words.split('-').map(Number);
  return new Date(year, month - 1, date + daysLater).toISOString();
}

/** The period as the service takes it: the day of `until` is in it. */
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
