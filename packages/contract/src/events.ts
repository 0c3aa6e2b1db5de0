import { z } from 'zod';
import {
  eventDescriptions as described,
  eventTypeNames,
  isEventType,
  type EventType,
} from './event-types.ts';
import {
  actor,
  keyId,
  mode,
  nanoUsd,
  eventId,
  organisationId,
  resourceRef,
  timestamp,
  userId,
} from './operation-builders.ts';
import { rentalType } from './records/vocabulary.ts';

/**
 * The event feed: one envelope, one table of types, for `GET /v2/events` and webhooks. Data schemas are open:
 * fields may be added to a type, but are never removed or changed in meaning.
 */

/** The API version that the data of an event follows. */
export const eventApiVersion = '2.0.0';

const rentalId = z.int32().positive();
const storageVolumeId = z.int().positive();

const rental = z.object({
  rentalId,
  externalId: z.string(),
  rentalType,
  name: z.string().nullable(),
  region: z.string().nullable(),
  gpuType: z.string(),
  gpuCount: z.int(),
});

const finalCost = z.object({ amountUsd: z.number(), nanoUsd });

const volume = z.object({
  storageVolumeId,
  label: z.string(),
  region: z.string(),
  sizeInGb: z.int().positive(),
});

const instance = z.object({
  instanceId: z.string(),
  clusterName: z.string(),
  nodeName: z.string(),
  gpuCount: z.int().nonnegative(),
});

const machine = z.object({
  machineId: z.string(),
  clusterName: z.string(),
  region: z.string(),
  reason: z.string().nullable(),
});

const balance = z.object({
  balanceNanoUsd: nanoUsd,
  availableNanoUsd: nanoUsd,
  burnRateUsdPerHour: z.number(),
  runwaySeconds: z.int().nonnegative().nullable(),
});

const budget = z.object({
  budgetId: z.string(),
  name: z.string(),
  limitNanoUsd: nanoUsd,
  spentNanoUsd: nanoUsd,
  periodStart: timestamp,
  periodEnd: timestamp.nullable(),
});

const maintenance = z.object({
  maintenanceId: z.string(),
  nodeIds: z.array(z.string()).meta({ description: 'The nodes of the window that this organisation uses.' }),
  rentalIds: z.array(rentalId).meta({ description: 'The affected rentals of this organisation.' }),
  externalIds: z
    .array(z.string())
    .meta({ description: 'The affected rentals and instances of this organisation.' }),
  startsAt: timestamp,
  endsAt: timestamp,
  summary: z.string(),
});

const key = z.object({
  keyId,
  publicId: z.string(),
  name: z.string(),
  mode,
});

interface EventTypeDefinition {
  /** `resource.kind` of the envelope. */
  readonly resource: string;
  readonly description: string;
  readonly data: z.ZodObject;
}

export const eventTypes = {
  'rental.pending': {
    resource: 'rental',
    description: described['rental.pending'],
    data: rental,
  },
  'rental.running': {
    resource: 'rental',
    description: described['rental.running'],
    data: rental.extend({ startedAt: timestamp }),
  },
  'rental.failed': {
    resource: 'rental',
    description: described['rental.failed'],
    data: rental.extend({ reason: z.string() }),
  },
  'rental.unknown': {
    resource: 'rental',
    description: described['rental.unknown'],
    data: rental.extend({ silentSince: timestamp }),
  },
  'rental.terminating': {
    resource: 'rental',
    description: described['rental.terminating'],
    data: rental.extend({ reason: z.string(), billingStoppedAt: timestamp.nullable() }),
  },
  'rental.terminated': {
    resource: 'rental',
    description: described['rental.terminated'],
    data: rental.extend({ terminatedAt: timestamp, finalCost }),
  },
  'rental.expiring': {
    resource: 'rental',
    description: described['rental.expiring'],
    data: rental.extend({
      expiresAt: timestamp,
      cause: z.enum(['term', 'ttl', 'balance', 'budget']),
      next: z.enum(['convert', 'terminate']).optional().meta({ description: 'The action at that time.' }),
    }),
  },
  'rental.converted': {
    resource: 'rental',
    description: described['rental.converted'],
    data: rental.extend({ costPerHour: z.number() }),
  },
  'volume.active': { resource: 'volume', description: described['volume.active'], data: volume },
  'volume.attached': {
    resource: 'volume',
    description: described['volume.attached'],
    data: volume.extend({ rentalIds: z.array(rentalId) }),
  },
  'volume.detached': {
    resource: 'volume',
    description: described['volume.detached'],
    data: volume.extend({ rentalIds: z.array(rentalId) }),
  },
  'volume.inactive': {
    resource: 'volume',
    description: described['volume.inactive'],
    data: volume.extend({ reason: z.string(), purgeAt: timestamp.nullable() }),
  },
  'volume.restored': {
    resource: 'volume',
    description: described['volume.restored'],
    data: volume.extend({ snapshotId: z.string() }),
  },
  'volume.restore_failed': {
    resource: 'volume',
    description: described['volume.restore_failed'],
    data: volume.extend({ snapshotId: z.string(), reason: z.string() }),
  },
  'volume.deleted': {
    resource: 'volume',
    description: described['volume.deleted'],
    data: volume.extend({
      reason: z.string().optional().meta({
        description:
          'Why it was deleted, as text: for example by its tenant, or because it could not be created.',
      }),
    }),
  },
  'instance.creating': { resource: 'instance', description: described['instance.creating'], data: instance },
  'instance.starting': { resource: 'instance', description: described['instance.starting'], data: instance },
  'instance.online': {
    resource: 'instance',
    description: described['instance.online'],
    data: instance.extend({ startedAt: timestamp }),
  },
  'instance.offline': {
    resource: 'instance',
    description: described['instance.offline'],
    data: instance.extend({ silentSince: timestamp }),
  },
  'instance.stopping': {
    resource: 'instance',
    description: described['instance.stopping'],
    data: instance.extend({ reason: z.string(), billingStoppedAt: timestamp.nullable() }),
  },
  'instance.terminated': {
    resource: 'instance',
    description: described['instance.terminated'],
    data: instance.extend({ terminatedAt: timestamp, finalCost }),
  },
  'instance.failed': {
    resource: 'instance',
    description: described['instance.failed'],
    data: instance.extend({ reason: z.string() }),
  },
  'instance.expiring': {
    resource: 'instance',
    description: described['instance.expiring'],
    data: instance.extend({
      expiresAt: timestamp,
      cause: z.enum(['term', 'ttl', 'balance', 'budget']),
      next: z.enum(['convert', 'terminate']).optional().meta({ description: 'The action at that time.' }),
    }),
  },
  'machine.ready': { resource: 'machine', description: described['machine.ready'], data: machine },
  'machine.offline': { resource: 'machine', description: described['machine.offline'], data: machine },
  'machine.quarantined': {
    resource: 'machine',
    description: described['machine.quarantined'],
    data: machine,
  },
  'balance.low': {
    resource: 'balance',
    description: described['balance.low'],
    data: balance,
  },
  'balance.floor': {
    resource: 'balance',
    description: described['balance.floor'],
    data: balance,
  },
  'balance.topped_up': {
    resource: 'balance',
    description: described['balance.topped_up'],
    data: balance.extend({ amountNanoUsd: nanoUsd, source: z.string() }),
  },
  'budget.threshold': {
    resource: 'budget',
    description: described['budget.threshold'],
    data: budget.extend({ thresholdPercent: z.int().min(1).max(100) }),
  },
  'budget.exceeded': { resource: 'budget', description: described['budget.exceeded'], data: budget },
  'reservation.requested': {
    resource: 'reservation-request',
    description: described['reservation.requested'],
    data: z.object({ requestId: z.string(), gpuCount: z.number().min(1), requestedBy: userId }),
  },
  'invoice.finalized': {
    resource: 'invoice',
    description: described['invoice.finalized'],
    data: z.object({
      invoiceId: z.string(),
      number: z.string(),
      periodStart: timestamp,
      periodEnd: timestamp,
      totalNanoUsd: nanoUsd,
    }),
  },
  'maintenance.announced': {
    resource: 'maintenance',
    description: described['maintenance.announced'],
    data: maintenance,
  },
  'maintenance.started': {
    resource: 'maintenance',
    description: described['maintenance.started'],
    data: maintenance,
  },
  'maintenance.ended': {
    resource: 'maintenance',
    description: described['maintenance.ended'],
    data: maintenance.extend({ cancelled: z.boolean() }),
  },
  'key.created': {
    resource: 'api-key',
    description: described['key.created'],
    data: key.extend({
      createdBy: userId,
      scopes: z.array(z.string()),
      expiresAt: timestamp.nullable(),
      rotatedFrom: keyId.nullable(),
    }),
  },
  'key.revoked': {
    resource: 'api-key',
    description: described['key.revoked'],
    data: key.extend({
      revokedAt: timestamp,
      cause: z.enum(['revoked', 'rotated', 'expired', 'member_removed', 'organisation_suspended']),
    }),
  },
} as const satisfies Record<EventType, EventTypeDefinition>;

export { eventTypeNames, isEventType, type EventType };

/** The data of an event before parsing, as the code that emits it passes it. */
export type EventData<Type extends EventType> = z.input<(typeof eventTypes)[Type]['data']>;

function envelopeOf<Type extends EventType>(type: Type) {
  return z.object({
    id: eventId,
    type: z.literal(type),
    seq: z.int().positive().meta({
      description: 'Increases without gaps within the organisation. Pass the last one seen as `after`.',
    }),
    occurredAt: timestamp,
    apiVersion: z.literal(eventApiVersion),
    orgId: organisationId,
    mode,
    resource: resourceRef,
    actor,
    // The cast keeps the data type of this event type; without it, every type would have the union of all data.
    data: eventTypes[type].data as (typeof eventTypes)[Type]['data'],
  });
}

type EnvelopeOf<Type extends EventType> = Type extends EventType
  ? ReturnType<typeof envelopeOf<Type>>
  : never;

/** One event, discriminated by `type`. Readers must skip unknown types: new ones appear within a version. */
export const eventEnvelope = z
  .discriminatedUnion('type', eventTypeNames.map(envelopeOf) as unknown as [EnvelopeOf<EventType>])
  .meta({ id: 'Event', 'x-extensible': true });

export type EventEnvelope = z.output<typeof eventEnvelope>;
