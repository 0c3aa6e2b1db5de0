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
 * Reads consoles: the api asks the workers, because only they call engines, and a worker appends new output to the database.
 * Output that an engine returns once can therefore be shown again.
 */

/** `read`: the stored output is up to date. `unsupported`: the engine has no consoles. */
const outcomes = ['read', 'unsupported', 'unavailable'] as const;
type ConsoleOutcome = (typeof outcomes)[number];

const replySchema = z.object({ outcome: z.enum(outcomes) });
const requestSchema = z.object({ orgId: z.string(), rentalId: z.string() });

export function consoleSubject(prefix: string, cell: number): string {
  return `${prefix === '' ? '' : `${prefix}.`}rentals.${cell}.console`;
}

const isolation = 'read committed';

// Worker side.

export interface ConsoleDeps {
  readonly db: Db;
  readonly clock: Timer;
  readonly drivers: (clusterId: ClusterId) => Promise<ComputeDriver>;
}

/** After this time another worker may try. */
const READ_LOCK_MS = 10_000;
const READ_LOCK_POLL_MS = 100;
/** Output this recent is returned without another call to the engine. */
const MIN_READ_INTERVAL_MS = 1_000;

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
      // A machine that does not exist yet has no output.
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

/** Of a gang, the console of the first machine is shown. */
async function findConsoleMachine(db: Db, rental: Rental): Promise<RentalMachine | null> {
  const machines = await listMachines(db, rental.orgId, rental.id, 'all');
  const [first] = machines.filter(({ attempt }) => attempt === rental.attempt);
  return first ?? null;
}

const QUEUE = 'rental-consoles';
/** A subscription handles one message at a time. */
const SUBSCRIPTIONS = 8;

/** Serves requests of the api over NATS. Any number of workers may run this. */
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
        log.warn({ err: error, rentalId }, 'console could not be read');
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

/** Deletes consoles of rentals that ended longer ago than samples are retained, and returns their number. */
export function deleteOldConsoles(db: Db): Promise<number> {
  return db.transaction({ name: 'forget consoles', isolation }, (tx) =>
    deleteConsoles(tx, { before: samplesExpireBefore(tx.clock.now()), limit: DELETE_BATCH }),
  );
}

// API side.

/** Asks a worker to update the stored output. Rejects if no worker responds. */
export type RequestConsoleRead = (rental: Pick<Rental, 'id' | 'orgId' | 'mode'>) => Promise<ConsoleOutcome>;

/** Slightly longer than the worker's limit. */
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
  // While the engine is unreachable, the stored output is still shown.
  if (stored?.readAt == null && outcome === 'unavailable')
    throw serviceUnavailable('The host of this rental does not respond. Try again in a few seconds.');
  const { text, isCut } = consoleTailOf(stored?.output ?? '', maxBytes);
  return { output: text, isCut: isCut || (stored?.isCut ?? false), readAt: stored?.readAt ?? now };
}

async function requestConsoleRead(request: RequestConsoleRead, rental: Rental): Promise<ConsoleOutcome> {
  try {
    return await request(rental);
  } catch (error) {
    throw serviceUnavailable(
      'The console could not be read because no worker responded. Try again in a few seconds.',
      error,
    );
  }
}

const CONSOLE_RETRY_AFTER_SECONDS = 5;

function serviceUnavailable(message: string, cause?: unknown): Fault {
  return new Fault('SERVICE_UNAVAILABLE', { message, cause, retryAfterSeconds: CONSOLE_RETRY_AFTER_SECONDS });
}
