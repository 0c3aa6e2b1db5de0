import { canTransition, rentalStates, type EventData, type EventType } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import { toUuid } from '@millrace/platform/ids';
import { appendOutbox } from '@millrace/platform/outbox';
import { rentalResourceOf, type Rental, type RentalState } from './rental.ts';
import { insertTransition, saveRental, type RentalChanges } from './rentals.store.ts';

/** The one way in which a rental changes: its row, its transition, what the tenant is told, and who works on it next. */

/** The durable object that works on rentals, one for each, and what it is called for. */
export const rentalObject = { service: 'Rental', handler: 'drive' } as const;

/** A call that nobody has answered by then is made again. */
const REDELIVER_AFTER_MS = 20_000;

/** A look that is this much overdue is an alert: nobody works on the rental. */
export const RENTAL_OVERDUE_MS = 15 * 60_000;

/** What is told of rentals, in the words that they have in events. */
type RentalEvent = Extract<EventType, `rental.${string}`>;

/** What the contract has an event say beside the rental itself. Of instances the same is told. */
type ExtraEventData<Type extends RentalEvent> = Omit<EventData<Type>, keyof EventData<'rental.pending'>>;

interface StatusTransition<State extends RentalState> {
  readonly to: State;
  /** Shown to the tenant as the status's reason; null where the status says it all. */
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

/** The same of instances. Nothing of theirs is ever converted: they have no terms. */
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
  if (type === 'rental.converted') throw new Error(`Instance ${id} has no term that could be converted.`);
  return instanceEventTypes[type];
}

/** What every event about a rental says of it. */
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

/** Its engine has the machine, which has still to be proven. Of instances alone this is a state of its own. */
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

/** Has the rental worked on as soon as this transaction has committed. */
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

/** Somebody was called and should look at it soon; a sweep calls again should that get lost. */
export function scheduleSoon(now: Date): ReturnType<typeof scheduleAt> {
  return scheduleAt(new Date(now.getTime() + REDELIVER_AFTER_MS));
}

export function scheduleAt(when: Date): { readonly nextActionAt: Date; readonly deadlineAt: Date } {
  return { nextActionAt: when, deadlineAt: new Date(when.getTime() + RENTAL_OVERDUE_MS) };
}

/**
 * Moves a rental whose lock is held to another status. Throws where the table of states knows no such way: that is a
 * mistake of ours, so callers look first and answer the tenant by the same table.
 */
export async function transitionRental(tx: Tx, rental: Rental, move: RentalTransition): Promise<Rental> {
  const { to, reason, actor } = move;
  if (!canTransition(rentalStates, rental.status, to)) {
    throw new Error(`Rental ${rental.id} cannot go from ${rental.status} to ${to}.`);
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

/** Changes a rental without moving it, and has it worked on. */
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
