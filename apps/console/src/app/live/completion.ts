import type { MillraceEvent } from '@millrace/sdk';

/** The end of a long operation, as a browser notification shows it. */
export interface Completion {
  readonly title: string;
  readonly body: string;
  /** Page of the resource. */
  readonly href: string;
}

/** Null for events that end no long operation. */
export function completionOf(event: MillraceEvent): Completion | null {
  switch (event.type) {
    case 'rental.running':
      return rentalCompletion(event.data, 'is running', 'You can log in now. Billing has started.');
    case 'rental.failed':
      return rentalCompletion(event.data, 'failed', event.data.reason);
    case 'rental.terminated':
      return rentalCompletion(event.data, 'was terminated', 'Its hardware was released.');
    case 'instance.online':
      return instanceCompletion(event.data, 'is online', 'You can use it now. Billing has started.');
    case 'instance.failed':
      return instanceCompletion(event.data, 'failed', event.data.reason);
    case 'volume.restored':
      return volumeCompletion(event.data, 'was restored', 'The snapshot is restored.');
    case 'volume.restore_failed':
      return volumeCompletion(event.data, 'was not restored', event.data.reason);
    default:
      return null;
  }
}

interface RentalData {
  readonly rentalId: number;
  readonly name: string | null;
}

function rentalCompletion({ rentalId, name }: RentalData, outcome: string, body: string): Completion {
  const id = String(rentalId);
  return { title: `${name ?? `Rental ${id}`} ${outcome}`, body, href: `/rentals/${id}` };
}

function instanceCompletion(
  { instanceId }: { readonly instanceId: string },
  outcome: string,
  body: string,
): Completion {
  return { title: `${instanceId} ${outcome}`, body, href: `/instances/${encodeURIComponent(instanceId)}` };
}

function volumeCompletion(
  { storageVolumeId, label }: { readonly storageVolumeId: number; readonly label: string },
  outcome: string,
  body: string,
): Completion {
  return { title: `Volume ${label} ${outcome}`, body, href: `/volumes/${String(storageVolumeId)}` };
}

/** Names the organisation if the user has several, and test mode. */
export function completionBody(
  { body }: Completion,
  place: { readonly organisation: string; readonly hasSeveral: boolean; readonly isTest: boolean },
): string {
  const where = [
    ...(place.hasSeveral ? [place.organisation] : []),
    ...(place.isTest ? ['Test mode'] : []),
  ].join(', ');
  return where === '' ? body : `${where}: ${body}`;
}
