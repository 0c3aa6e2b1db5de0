import { isStatementTimeout, type Db } from '@millrace/platform/db';
import type { OrgId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { groupsOf } from '@millrace/platform/money';
import { counter } from '@millrace/platform/telemetry';
import { listWaitingEvents, moveEvents, noteRefusal, type LeaseProof } from './outbox.store.ts';

const moved = counter('millrace_relay_events_moved_total', 'Events numbered and stored by this relay');
const parked = counter('millrace_relay_parked_total', 'Outbox rows given up on; each needs a person');

export interface MoverOptions {
  readonly db: Db;
  readonly log: Pick<Logger, 'warn' | 'error'>;
  /** About how many events to move in one statement. */
  readonly batchSize: number;
  readonly maxAttempts: number;
}

/** Moves what waits in these shards. Answers how many events got their number. */
export async function moveWaiting(options: MoverOptions, proof: LeaseProof): Promise<number> {
  if (proof.leases.length === 0) return 0;
  try {
    const limitPerShard = groupsOf(options.batchSize, proof.leases.length);
    const count = await moveEvents(options.db, proof, { limitPerShard });
    moved.add(count);
    return count;
  } catch (error) {
    if (!isRefusalOfData(error) && !isStatementTimeout(error)) throw error;
    options.log.warn({ err: error }, 'a batch of events failed; trying them one by one');
    return moveOneByOne(options, proof);
  }
}

/**
 * One event of the batch cannot be stored. Each is tried by itself; a refused one holds back its own organisation
 * for this turn, so that order is kept, and no other. After `maxAttempts` turns it is parked and the rest goes on. An
 * event whose write times out is held back but never parked: the cause is a lock or a slow database, not the event.
 */
async function moveOneByOne(options: MoverOptions, proof: LeaseProof): Promise<number> {
  const heldBack = new Set<OrgId>();
  let count = 0;
  let timeouts = 0;
  for (const { id, orgId } of await listWaitingEvents(options.db, proof, options.batchSize)) {
    if (heldBack.has(orgId)) continue;
    try {
      count += await moveEvents(options.db, proof, { only: id });
    } catch (error) {
      if (isStatementTimeout(error)) {
        timeouts += 1;
        if (timeouts >= MOST_TIMEOUTS) throw error;
        heldBack.add(orgId);
        continue;
      }
      if (!isRefusalOfData(error)) throw error;
      heldBack.add(orgId);
      const refusal = { id, error: describe(error), retryInMs: 0, maxAttempts: options.maxAttempts };
      const outcome = await noteRefusal(options.db, refusal);
      if (!outcome.parked) continue;
      parked.add(1, { kind: 'event' });
      options.log.error({ outboxId: id, orgId, err: error }, 'an event cannot be stored and was parked');
    }
  }
  moved.add(count);
  return count;
}

/** If the writes of this many organisations time out in one turn, the database is slow, and the loop waits. */
const MOST_TIMEOUTS = 3;

/** SQLSTATE classes that blame the row: data exception, integrity constraint, program limit. */
const REFUSAL_CLASSES: ReadonlySet<string> = new Set(['22', '23', '54']);

function isRefusalOfData(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return false;
  return error.code.length === 5 && REFUSAL_CLASSES.has(error.code.slice(0, 2));
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
