import { isDriverError, type ComputeDriver } from '@millrace/compute';
import { withDeadline, type Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { payloadSchemaVersion, type Mode } from '@millrace/platform/envelope';
import { Fault } from '@millrace/platform/fault';
import { parseId, type ClusterId, type OrgId, type RentalId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import type { NatsClient } from '@millrace/platform/nats';
import { z } from 'zod';
import { cleanConsole, mergeConsole, CONSOLE_MAX_BYTES, consoleTailOf } from './console-text.ts';
import {
  findConsole,
  deleteConsoles,
  releaseConsoleReadLock,
  lockConsole,
  saveConsole,
  takeConsoleReadLock,
  type ConsoleKey,
} from './console.store.ts';
import { listMachines } from '../model/machines.store.ts';
import { samplesExpireBefore } from './idleness.ts';
import type { Rental, RentalMachine } from '../model/rental.ts';
import { findRentalByWireId, findRental } from '../model/rentals.store.ts';

/**
 * The console of a machine: the api asks the workers, who alone speak to engines, and one of them reads what is new into
 * the database. From there it is shown, so that it is shown again where the engine hands it out once.
 */

/** `read`: what is kept is as new as can be had. `unsupported`: this engine has no consoles. */
const outcomes = ['read', 'unsupported', 'unavailable'] as const;
type ConsoleOutcome = (typeof outcomes)[number];

const replySchema = z.object({ outcome: z.enum(outcomes) });
const requestSchema = z.object({ orgId: z.string(), rentalId: z.string() });

export function consoleSubject(prefix: string, cell: number): string {
  return `${prefix === '' ? '' : `${prefix}.`}rentals.${cell}.console`;
}

const isolation = 'read committed';

// The worker's side.

export interface ConsoleDeps {
  readonly db: Db;
  readonly clock: Timer;
  readonly drivers: (clusterId: ClusterId) => Promise<ComputeDriver>;
}

/** A worker answers within this, or somebody else may try. */
const READ_LOCK_MS = 10_000;
const READ_LOCK_POLL_MS = 100;
/** What was read so lately is new enough: whoever asks all the time does not ask the engine each time. */
const MIN_READ_INTERVAL_MS = 1_000;

/** Brings what is kept of a rental's console up to date. */
export async function refreshConsole(
  deps: ConsoleDeps,
  orgId: OrgId,
  rentalId: RentalId,
): Promise<ConsoleOutcome> {
  const rental = await findRental(deps.db, orgId, rentalId);
  const machine = rental === null ? null : await findConsoleMachine(deps.db, rental);
  if (machine === null || machine.state === 'gone') return 'read';
  const { db, clock } = deps;
  const deadlineMs = clock.monotonicMs() + READ_LOCK_MS;
  while (clock.monotonicMs() < deadlineMs) {
    const nowMs = db.clock.nowMs();
    const staleBefore = new Date(nowMs - MIN_READ_INTERVAL_MS);
    const turn = { until: new Date(nowMs + READ_LOCK_MS), staleBefore };
    const isOwn = await db.transaction({ name: 'take console turn', isolation }, (tx) =>
      takeConsoleReadLock(tx, orgId, machine, turn),
    );
    if (isOwn) return readConsole(deps, orgId, machine);
    const stored = await findConsole(db, orgId, machine);
    if (stored?.readAt != null && stored.readAt > staleBefore) return 'read';
    await clock.sleep(READ_LOCK_POLL_MS);
  }
  return 'unavailable';
}

async function readConsole(deps: ConsoleDeps, orgId: OrgId, machine: RentalMachine): Promise<ConsoleOutcome> {
  const { db, clock, drivers } = deps;
  try {
    const text = await withDeadline(clock, 'Reading a console', READ_LOCK_MS, async (signal) => {
      const driver = await drivers(machine.clusterId);
      return driver.consoleLog(machine, { maxBytes: CONSOLE_MAX_BYTES }, signal);
    }).catch((error: unknown) => {
      // A machine that is not there yet has written nothing.
      if (isDriverError(error, 'not_found')) return '';
      throw error;
    });
    await appendConsole(db, orgId, machine, cleanConsole(text));
    return 'read';
  } catch (error) {
    await releaseConsoleReadLock(db, orgId, machine);
    return isDriverError(error, 'unsupported') ? 'unsupported' : 'unavailable';
  }
}

function appendConsole(db: Db, orgId: OrgId, machine: ConsoleKey, read: string): Promise<void> {
  return db.transaction({ name: 'keep console', isolation }, async (tx) => {
    await lockConsole(tx, orgId, machine);
    const stored = await findConsole(tx, orgId, machine);
    const { text, isCut } = consoleTailOf(mergeConsole(stored?.output ?? '', read), CONSOLE_MAX_BYTES);
    await saveConsole(tx, orgId, machine, { output: text, isCut: isCut || (stored?.isCut ?? false) });
  });
}

/** Of several machines it is the first. */
async function findConsoleMachine(db: Db, rental: Rental): Promise<RentalMachine | null> {
  const machines = await listMachines(db, rental.orgId, rental.id, 'all');
  const [first] = machines.filter(({ attempt }) => attempt === rental.attempt);
  return first ?? null;
}

const QUEUE = 'rental-consoles';
/** A subscription handles its messages one after the other. */
const SUBSCRIPTIONS = 8;

/** Answers the api over NATS. Any number of workers may. */
export function serveConsoles(
  deps: ConsoleDeps & {
    readonly nats: Pick<NatsClient, 'subscribe'>;
    readonly subject: string;
    readonly log: Pick<Logger, 'warn'>;
  },
): { stop(): Promise<void> } {
  const { nats, subject, log } = deps;
  const listeners = Array.from({ length: SUBSCRIPTIONS }, () =>
    nats.subscribe(subject, { queue: QUEUE }, async (message) => {
      const request = requestSchema.parse(message.json());
      const orgId = parseId('org', request.orgId);
      const rentalId = parseId('rnt', request.rentalId);
      if (orgId === null || rentalId === null) return { outcome: 'unavailable' };
      const outcome = await refreshConsole(deps, orgId, rentalId).catch((error: unknown) => {
        log.warn({ err: error, rentalId }, 'a console could not be read');
        return 'unavailable';
      });
      return { outcome };
    }),
  );
  return {
    stop: async () => {
      await Promise.all(listeners.map((listener) => listener.close()));
    },
  };
}

const DELETE_BATCH = 500;

/** Forgets consoles of rentals that ended as long ago as samples are kept. Answers how many. */
export function deleteOldConsoles(db: Db): Promise<number> {
  return db.transaction({ name: 'forget consoles', isolation }, (tx) =>
    deleteConsoles(tx, { before: samplesExpireBefore(tx.clock.now()), limit: DELETE_BATCH }),
  );
}

// The side of the api.

/** Has a worker bring what is kept up to date. Rejects when none answers. */
export type RequestConsoleRead = (rental: Pick<Rental, 'id' | 'orgId' | 'mode'>) => Promise<ConsoleOutcome>;

/** A little longer than a worker takes. */
const REQUEST_TIMEOUT_MS = READ_LOCK_MS + 2_000;

export function createConsoleRequester(
  nats: Pick<NatsClient, 'request'>,
  { subject, cell }: { readonly subject: string; readonly cell: number },
): RequestConsoleRead {
  return async ({ id: rentalId, orgId, mode }) => {
    const envelope = {
      cell,
      mode,
      actor: { kind: 'system', id: 'api' },
      schemaVersion: payloadSchemaVersion,
      traceparent: null,
    } as const;
    const response = await nats.request(
      subject,
      { orgId, rentalId },
      { envelope, timeoutMs: REQUEST_TIMEOUT_MS },
    );
    return replySchema.parse(response.json()).outcome;
  };
}

export interface ConsoleOutput {
  readonly output: string;
  readonly isCut: boolean;
  readonly readAt: Date;
}

export async function getConsole(
  db: Db,
  request: RequestConsoleRead,
  wanted: {
    readonly orgId: OrgId;
    readonly mode: Mode;
    readonly wireId: number;
    readonly maxBytes: number;
    readonly now: Date;
  },
): Promise<ConsoleOutput> {
  const { orgId, mode, wireId, maxBytes, now } = wanted;
  const rental = await findRentalByWireId(db, orgId, mode, wireId);
  if (rental === null) throw new Fault('RENTAL_NOT_FOUND');
  const machine = await findConsoleMachine(db, rental);
  const outcome =
    machine === null || machine.state === 'gone' ? 'read' : await requestConsoleRead(request, rental);
  if (outcome === 'unsupported') throw new Fault('CONSOLE_NOT_SUPPORTED');
  const stored = machine === null ? null : await findConsole(db, orgId, machine);
  // An engine that cannot be asked now keeps nobody from what it said before.
  if (stored?.readAt == null && outcome === 'unavailable')
    throw serviceUnavailable('The host of this rental does not answer.');
  const { text, isCut } = consoleTailOf(stored?.output ?? '', maxBytes);
  return { output: text, isCut: isCut || (stored?.isCut ?? false), readAt: stored?.readAt ?? now };
}

async function requestConsoleRead(request: RequestConsoleRead, rental: Rental): Promise<ConsoleOutcome> {
  try {
    return await request(rental);
  } catch (error) {
    throw serviceUnavailable('No worker answered, and only workers can read consoles.', error);
  }
}

const CONSOLE_RETRY_AFTER_SECONDS = 5;

function serviceUnavailable(message: string, cause?: unknown): Fault {
  return new Fault('SERVICE_UNAVAILABLE', { message, cause, retryAfterSeconds: CONSOLE_RETRY_AFTER_SECONDS });
}
