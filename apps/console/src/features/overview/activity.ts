import { eventDescriptions, isEventType } from '@millrace/contract/event-types';
import type { Output } from '@millrace/sdk';
import { usdText } from '@millrace/sdk/text';
import { headlineUsd } from '../../ui/logic/headline-usd.ts';

/** Says in one line what happened. */

export type Event = Output<'listEvents'>['items'][number];

export interface Activity {
  readonly text: string;
  /** Page of the resource; null if it has none. */
  readonly to: string | null;
}

const rentalTexts: Readonly<Record<string, string>> = {
  pending: 'is starting',
  running: 'is running',
  failed: 'failed',
  unknown: 'does not respond',
  terminating: 'is being terminated',
  terminated: 'was terminated',
  expiring: 'ends soon',
  converted: 'continues on demand',
};

const instanceTexts: Readonly<Record<string, string>> = {
  creating: 'was accepted',
  starting: 'is starting',
  online: 'is running',
  offline: 'is offline',
  stopping: 'is being terminated',
  terminated: 'was terminated',
  failed: 'failed',
  expiring: 'ends soon',
};

const volumeTexts: Readonly<Record<string, string>> = {
  active: 'is ready',
  attached: 'was attached',
  detached: 'was detached',
  inactive: 'is not usable',
  restored: 'was restored from a snapshot',
  restore_failed: 'was not restored',
  deleted: 'was deleted',
};

/** Unknown types, which a newer service may send, show their name. */
export function activityOf(event: Event): Activity {
  const [kind = '', change = ''] = event.type.split('.');
  const { data } = event;
  if ('rentalId' in data) {
    const id = String(data.rentalId);
    return { text: `${data.name ?? `Rental ${id}`} ${rentalTexts[change] ?? change}`, to: `/rentals/${id}` };
  }
  if ('storageVolumeId' in data) {
    return {
      text: `Volume ${data.label} ${volumeTexts[change] ?? change}`,
      to: `/volumes/${String(data.storageVolumeId)}`,
    };
  }
  if ('instanceId' in data) {
    return {
      text: `Instance ${data.instanceId} ${instanceTexts[change] ?? change}`,
      to: `/instances/${encodeURIComponent(data.instanceId)}`,
    };
  }
  return { text: otherText(event), to: pages[kind] ?? null };
}

const pages: Readonly<Record<string, string>> = {
  machine: '/supplier/machines',
  balance: '/money',
  budget: '/budgets',
  invoice: '/invoices',
  key: '/keys',
  maintenance: '/rentals',
  reservation: '/rentals',
};

function otherText(event: Event): string {
  switch (event.type) {
    case 'machine.ready':
      return `Your machine in ${event.data.region} can be rented`;
    case 'machine.offline':
      return `Your machine in ${event.data.region} is offline`;
    case 'machine.quarantined':
      return `Your machine in ${event.data.region} was quarantined`;
    case 'balance.topped_up':
      return `${usdText(event.data.amountNanoUsd)} was added to the balance`;
    case 'budget.threshold':
      return `Budget ${event.data.name} passed ${String(event.data.thresholdPercent)} %`;
    case 'budget.exceeded':
      return `Budget ${event.data.name} is used up`;
    case 'invoice.finalized':
      return `Invoice ${event.data.number} over ${headlineUsd(event.data.totalNanoUsd).text} is final`;
    case 'maintenance.announced':
      return `Maintenance was announced: ${event.data.summary}`;
    case 'maintenance.started':
      return `Maintenance started: ${event.data.summary}`;
    case 'maintenance.ended':
      return `Maintenance ${event.data.cancelled ? 'was cancelled' : 'ended'}: ${event.data.summary}`;
    case 'key.created':
      return `API key ${event.data.name} was created`;
    case 'key.revoked':
      return `API key ${event.data.name} was revoked`;
    default:
      return isEventType(event.type) ? eventDescriptions[event.type].replace(/\.$/, '') : event.type;
  }
}
