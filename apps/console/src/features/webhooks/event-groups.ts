import { eventDescriptions, eventTypeNames, type EventType } from '@millrace/contract/event-types';

/** Groups event types by resource. */

const labels: Readonly<Record<string, string>> = {
  rental: 'Rentals',
  volume: 'Volumes',
  instance: 'Marketplace instances',
  machine: 'Machines (for suppliers)',
  balance: 'Balance',
  budget: 'Budgets',
  invoice: 'Invoices',
  reservation: 'Reservations',
  maintenance: 'Maintenance',
  key: 'API keys',
};

export interface EventGroup {
  readonly label: string;
  readonly types: readonly { readonly type: EventType; readonly about: string }[];
}

const eventPrefix = (type: string): string => type.split('.', 1)[0] ?? '';

export const eventGroups: readonly EventGroup[] = [...new Set(eventTypeNames.map(eventPrefix))].map(
  (about) => ({
    label: labels[about] ?? about,
    types: eventTypeNames
      .filter((type) => eventPrefix(type) === about)
      .map((type) => ({ type, about: eventDescriptions[type] })),
  }),
);

export function typesText(types: readonly string[]): string {
  if (types.includes('*')) return 'all events';
  return types.length > 3
    ? `${types.slice(0, 2).join(', ')} and ${String(types.length - 2)} more`
    : types.join(', ');
}
