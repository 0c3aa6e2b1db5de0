/** The event types with descriptions, separate from the data schemas, which clients need not load. */
export const eventDescriptions = {
  'rental.pending': 'A rental was accepted, or is being placed again.',
  'rental.running': 'A rental passed its readiness check; billing has started.',
  'rental.failed': 'A rental could not be provisioned, or its host was lost.',
  'rental.unknown': 'The engine of a rental is unreachable.',
  'rental.terminating': 'A rental is being terminated; billing has stopped.',
  'rental.terminated': 'A rental was terminated and its hardware was released.',
  'rental.expiring': 'A term, a TTL or the money for a rental is about to end.',
  'rental.converted': 'A reserved term ended and the rental continues on demand.',
  'volume.active': 'A volume is usable.',
  'volume.attached': 'A volume was attached to rentals.',
  'volume.detached': 'A volume was detached from rentals.',
  'volume.inactive': 'A volume cannot be used: delete requested, no money, or it is being restored.',
  'volume.restored': 'A snapshot was restored into a volume.',
  'volume.restore_failed':
    'A snapshot was not restored. An existing volume keeps its content; a new volume is deleted.',
  'volume.deleted': 'A volume and its data were deleted.',
  'instance.creating': 'An instance was accepted.',
  'instance.starting': 'An instance is starting.',
  'instance.online': 'An instance passed its readiness check; billing has started.',
  'instance.offline': 'The host of an instance is unreachable.',
  'instance.stopping': 'An instance is being terminated; billing has stopped.',
  'instance.terminated': 'An instance was terminated and its hardware was released.',
  'instance.failed': 'An instance could not be provisioned.',
  'instance.expiring': 'A TTL or the money for an instance is about to end.',
  'machine.ready': 'A machine can be rented.',
  'machine.offline': 'A machine is unreachable.',
  'machine.quarantined': 'A machine was quarantined until an operator has checked it.',
  'balance.low': 'At the current rate, the balance ends soon.',
  'balance.floor':
    'The balance reached its floor: no new work is accepted and running work is being stopped.',
  'balance.topped_up': 'Money was added.',
  'budget.threshold': 'A budget passed one of its thresholds.',
  'budget.exceeded': 'A budget is used up.',
  'reservation.requested': 'A member requested a large reservation.',
  'invoice.finalized': 'An invoice is final.',
  'maintenance.announced': 'Machines in use will be unavailable for a stated time, which is not billed.',
  'maintenance.started': 'The announced maintenance started.',
  'maintenance.ended': 'The announced maintenance ended or was cancelled.',
  'key.created': 'An API key was created.',
  'key.revoked': 'An API key was revoked and is now refused.',
} as const satisfies Record<string, string>;

export type EventType = keyof typeof eventDescriptions;
export const eventTypeNames = Object.keys(eventDescriptions) as [EventType, ...EventType[]];

export function isEventType(value: string): value is EventType {
  return Object.hasOwn(eventDescriptions, value);
}
