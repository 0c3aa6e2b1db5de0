import type { Timer } from '@millrace/platform/clock';
import { isStatementTimeout, type Db } from '@millrace/platform/db';
import type { OrgId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { floorDivide } from '@millrace/platform/money';
import { counter } from '@millrace/platform/telemetry';
import { listWaitingEvents, moveEvents, recordFailure, type LeaseProof } from './outbox.store.ts';

const moved = counter('millrace_relay_events_moved_total');
const parked = counter('millrace_relay_parked_total');

export interface MoverOptions {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'warn' | 'error'>;
  /** Approximate number of events that one statement moves. */
  readonly batchSize: number;
  readonly maxAttempts: number;
}

export interface Mover {
  /** Organisations whose last write timed out and whose next attempt is not due. */
  postponed(): OrgId[];
  /** Moves waiting events of these shards and returns how many it numbered. */
  move(proof: LeaseProof): Promise<number>;
}

/**
 * Moves events to the feed. An event that the database refuses is retried alone, delays its own organisation for this
 * turn so that order is kept, and is parked after `maxAttempts` turns. An event whose write times out is never parked:
 * the cause is a lock or a slow database. Its organisation is postponed, so that the next batches do not run into the
 * same time-out.
 */
export function createMover(options: MoverOptions): Mover {
  const { db, clock, log, batchSize, maxAttempts } = options;
  const waits = new Map<OrgId, { readonly ms: number; readonly untilMs: number }>();

  function postpone(orgId: OrgId): void {
    const before = waits.get(orgId)?.ms;
    const ms = before === undefined ? FIRST_WAIT_MS : Math.min(LONGEST_WAIT_MS, before * 2);
    waits.set(orgId, { ms, untilMs: clock.monotonicMs() + ms });
  }

  function postponed(): OrgId[] {
    const nowMs = clock.monotonicMs();
    // The next attempt may take as long as the time-out, so keep the wait for longer than that.
    for (const [orgId, wait] of waits) if (wait.untilMs + LONGEST_WAIT_MS <= nowMs) waits.delete(orgId);
    return [...waits].filter(([, { untilMs }]) => untilMs > nowMs).map(([orgId]) => orgId);
  }

  async function moveOneByOne(proof: LeaseProof): Promise<number> {
    const heldBack = new Set<OrgId>();
    let count = 0;
    let timeouts = 0;
    for (const { id, orgId } of await listWaitingEvents(db, proof, {
      limit: batchSize,
      without: postponed(),
    })) {
      if (heldBack.has(orgId)) continue;
      try {
        count += await moveEvents(db, proof, { only: id });
      } catch (error) {
        if (!isDataError(error) && !isStatementTimeout(error)) throw error;
        heldBack.add(orgId);
        if (isStatementTimeout(error)) {
          postpone(orgId);
          timeouts += 1;
          if (timeouts >= TIMEOUTS_MAX) throw error;
          continue;
        }
        const failure = { id, error: errorText(error), retryInMs: 0, maxAttempts };
        const outcome = await recordFailure(db, failure);
        if (!outcome.parked) continue;
        parked.add(1, { kind: 'event' });
        log.error({ outboxId: id, orgId, err: error }, 'event cannot be stored and was parked');
      }
    }
    moved.add(count);
    return count;
  }

  return {
    postponed,
    async move(proof) {
      if (proof.leases.length === 0) return 0;
      try {
        const limitPerShard = floorDivide(batchSize, proof.leases.length);
        const count = await moveEvents(db, proof, { limitPerShard, without: postponed() });
        moved.add(count);
        return count;
      } catch (error) {
        if (!isDataError(error) && !isStatementTimeout(error)) throw error;
        log.warn({ err: error }, 'moving a batch of events failed; moving them one by one');
        return moveOneByOne(proof);
      }
    },
  };
}

/** After time-outs of this many organisations the turn ends: the database may be slow. */
const TIMEOUTS_MAX = 3;

/** Wait of an organisation's events after a time-out; doubles with each. The first equals the lock time-out. */
const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 60_000;

/** SQLSTATE classes caused by the row: data exception, integrity constraint, program limit. */
const DATA_ERROR_CLASSES: ReadonlySet<string> = new Set(['22', '23', '54']);

function isDataError(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return false;
  return error.code.length === 5 && DATA_ERROR_CLASSES.has(error.code.slice(0, 2));
}

function errorText(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
