/**
 * The types of events and what each says, in words alone: clients list them without the schemas of their data, which are in
 * events.ts.
 */
export const eventDescriptions = {
  'rental.pending': 'A rental was accepted, or is being placed again.',
  'rental.running': 'A rental was proven usable; billing has started.',
  'rental.failed': 'A rental could not be delivered, or its host is lost.',
  'rental.unknown': 'The engine under a rental is silent.',
  'rental.terminating': 'A rental is being ended; billing has stopped.',
  'rental.terminated': 'A rental has ended and its hardware was released.',
  'rental.expiring': 'A term, a time to live or the money for a rental is about to end.',
  'rental.converted': 'A reserved term ended and the rental continues on demand.',
  'volume.active': 'A volume is usable.',
  'volume.attached': 'A volume was attached to rentals.',
  'volume.detached': 'A volume was detached from rentals.',
  'volume.inactive': 'A volume cannot be used: delete requested, no money, or it is being restored.',
  'volume.restored': 'A volume holds what a snapshot held.',
  'volume.restore_failed':
    'A snapshot was not restored. A volume that was there keeps its content; a new one is given up.',
  'volume.deleted': 'A volume and its data are gone.',
  'instance.creating': 'An instance was accepted.',
  'instance.starting': 'An instance is starting.',
  'instance.online': 'An instance was proven usable; billing has started.',
  'instance.offline': 'The host of an instance is silent.',
  'instance.stopping': 'An instance is being ended; billing has stopped.',
  'instance.terminated': 'An instance has ended and its hardware was released.',
  'instance.failed': 'An instance could not be delivered.',
  'instance.expiring': 'A time to live or the money for an instance is about to end.',
  'machine.ready': 'A machine can be rented.',
  'machine.offline': 'A machine went silent.',
  'machine.quarantined': 'A machine was taken out of use until somebody has looked at it.',
  'balance.low': 'At the present rate the balance ends soon.',
  'balance.floor':
    'The balance reached its floor: no new work is accepted and running work is being stopped.',
  'balance.topped_up': 'Money was added.',
  'budget.threshold': 'A budget passed one of its thresholds.',
  'budget.exceeded': 'A budget is used up.',
  'reservation.requested': 'Somebody asked for a large reservation.',
  'invoice.finalized': 'An invoice is final.',
  'maintenance.announced': 'Machines in use will be away for a stated time, which is not billed.',
  'maintenance.started': 'The announced work began.',
  'maintenance.ended': 'The announced work is over or was called off.',
  'key.created': 'An API key was created.',
  'key.revoked': 'An API key was revoked and is refused from now on.',
} as const satisfies Record<string, string>;

export type EventType = keyof typeof eventDescriptions;
export const eventTypeNames = Object.keys(eventDescriptions) as [EventType, ...EventType[]];

export function isEventType(value: string): value is EventType {
  return Object.hasOwn(eventDescriptions, value);
}
