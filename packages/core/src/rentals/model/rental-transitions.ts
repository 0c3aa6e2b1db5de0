import { canTransition, rentalStates, type EventData, type EventType } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import { toUuid } from '@millrace/platform/ids';
import { appendOutbox } from '@millrace/platform/outbox';
import { rentalResourceOf, type Rental, type RentalState } from './rental.ts';
import { insertTransition, saveRental, type RentalChanges } from './rentals.store.ts';

/** All status changes of rentals: each writes the row, its transition, its event and the reconcile command in one transaction. */

export const rentalObject = { service: 'Rental', handler: 'drive' } as const;

/** A command without effect by then is sent again. */
const REDELIVER_AFTER_MS = 20_000;

/** A rental that is this long overdue raises an alert: no worker reconciles it. */
export const RENTAL_OVERDUE_MS = 15 * 60_000;

type RentalEvent = Extract<EventType, `rental.${string}`>;

/** Fields that the contract adds to an event beside those of the rental. Instance events have the same fields. */
type ExtraEventData<Type extends RentalEvent> = Omit<EventData<Type>, keyof EventData<'rental.pending'>>;

interface StatusTransition<State extends RentalState> {
  readonly to: State;
  /** Shown to the tenant as the reason of the status; null if the status needs none. */
  readonly reason: string | null;
  readonly actor: Actor;
  readonly changes?: RentalChanges;
  readonly data: Readonly<ExtraEventData<(typeof eventByStatus)[State]>>;
}

export type RentalTransition = { [State in RentalState]: StatusTransition<State> }[RentalState];

const eventByStatus = {
  Pending: 'rental.pending',
  Running: 'rental.running',
  Unknown: 'rental.unknown',
  Failed: 'rental.failed',
  Terminating: 'rental.terminating',
  Terminated: 'rental.terminated',
} as const satisfies Readonly<Record<RentalState, RentalEvent>>;

/** Instances have no terms, so they are never converted. */
const instanceEventTypes: Readonly<Record<Exclude<RentalEvent, 'rental.converted'>, EventType>> = {
  'rental.pending': 'instance.creating',
  'rental.running': 'instance.online',
  'rental.unknown': 'instance.offline',
  'rental.failed': 'instance.failed',
  'rental.terminating': 'instance.stopping',
  'rental.terminated': 'instance.terminated',
  'rental.expiring': 'instance.expiring',
};

function publicEventType({ id, kind }: Rental, type: RentalEvent): EventType {
  if (kind !== 'instance') return type;
  if (type === 'rental.converted') throw new Error(`Instance ${id} has no term to convert.`);
  return instanceEventTypes[type];
}

export function rentalEventData(rental: Rental): Readonly<Record<string, unknown>> {
  if (rental.publicIdentity !== null) return { ...rental.publicIdentity, gpuCount: rental.gpuCount };
  return {
    rentalId: rental.wireId,
    externalId: toUuid(rental.id),
    rentalType: rental.kind,
    name: rental.name,
    region: rental.region,
    gpuType: rental.gpuType,
    gpuCount: rental.gpuCount,
  };
}

export async function emitRentalEvent(
  tx: Tx,
  rental: Rental,
  event: {
    readonly type: RentalEvent;
    readonly actor: Actor;
    readonly data?: Readonly<Record<string, unknown>>;
  },
): Promise<void> {
  await appendRentalEvent(tx, rental, { ...event, type: publicEventType(rental, event.type) });
}

/** Emitted when the engine has created the machine and its readiness check is pending. Only instances have this event. */
export async function emitStarting(tx: Tx, rental: Rental, actor: Actor): Promise<void> {
  if (rental.kind === 'instance') await appendRentalEvent(tx, rental, { type: 'instance.starting', actor });
}

async function appendRentalEvent(
  tx: Tx,
  rental: Rental,
  event: {
    readonly type: EventType;
    readonly actor: Actor;
    readonly data?: Readonly<Record<string, unknown>>;
  },
): Promise<void> {
  await appendOutbox(tx, {
    kind: 'event',
    orgId: rental.orgId,
    mode: rental.mode,
    type: event.type,
    resource: rentalResourceOf(rental),
    data: { ...rentalEventData(rental), ...event.data },
    actor: event.actor,
    occurredAt: tx.clock.now(),
  });
}

/** Reconciles the rental after this transaction has committed. */
export async function enqueueReconcile(
  tx: Tx,
  rental: Pick<Rental, 'orgId' | 'id' | 'mode'>,
  actor: Actor,
): Promise<void> {
  await appendOutbox(tx, {
    kind: 'command',
    orgId: rental.orgId,
    mode: rental.mode,
    service: rentalObject.service,
    key: toUuid(rental.id),
    handler: rentalObject.handler,
    payload: { orgId: rental.orgId, rentalId: rental.id },
    actor,
  });
}

/** The command sent with the change is the normal path; the sweep enqueues another if that command is lost. */
export function scheduleSoon(now: Date): ReturnType<typeof scheduleAt> {
  return scheduleAt(new Date(now.getTime() + REDELIVER_AFTER_MS));
}

export function scheduleAt(when: Date): { readonly nextActionAt: Date; readonly deadlineAt: Date } {
  return { nextActionAt: when, deadlineAt: new Date(when.getTime() + RENTAL_OVERDUE_MS) };
}

/** Throws if the state table forbids the transition: callers must check it first and reject the tenant's request. */
export async function transitionRental(tx: Tx, rental: Rental, move: RentalTransition): Promise<Rental> {
  const { to, reason, actor } = move;
  if (!canTransition(rentalStates, rental.status, to)) {
    throw new Error(`Rental ${rental.id} cannot change from ${rental.status} to ${to}.`);
  }
  const now = tx.clock.now();
  const due = to === 'Terminated' ? { nextActionAt: null, deadlineAt: null } : scheduleSoon(now);
  const moved = await saveRental(tx, rental, {
    updatedAt: now,
    ...due,
    ...move.changes,
    status: to,
    statusReason: reason,
    statusSince: now,
    transitions: rental.transitions + 1,
  });
  await insertTransition(tx, moved, { from: rental.status, to, reason }, actor);
  await emitRentalEvent(tx, moved, { type: eventByStatus[to], actor, data: { ...move.data } });
  if (to !== 'Terminated') await enqueueReconcile(tx, moved, actor);
  return moved;
}

/** Changes fields of a rental but not its status, and reconciles it. */
export async function updateRentalAndEnqueue(
  tx: Tx,
  rental: Rental,
  changes: RentalChanges,
  actor: Actor,
): Promise<Rental> {
  const now = tx.clock.now();
  const changed = await saveRental(tx, rental, { updatedAt: now, ...scheduleSoon(now), ...changes });
  await enqueueReconcile(tx, changed, actor);
  return changed;
}
