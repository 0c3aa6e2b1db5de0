import { epochEndSchema } from '@millrace/credit-leases/protocol';
import { isDataError, type Db, type Tx } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner } from '@millrace/platform/loops';
import {
  countDeferredAttempt,
  deleteDeferred,
  groupKeyOf,
  listDeferred,
  listDueGroups,
  lockDeferred,
  recordEpochEnd,
  type DeferredRow,
  type DeferredGroup,
} from '../../credit-leases/index.ts';
import { chargeDeferredUsage } from '../loops.ts';
import { writeUsage } from './sink.service.ts';
import { quarantineUsage } from './sink.store.ts';
import { countCharged, countUnreadable } from './usage-metrics.ts';
import { UnreadableUsageError, parseUsage, unreadableMessage, type ParsedUsage } from './parse-usage.ts';
import type { UsageSummary } from './usage.service.ts';

/** Events per transaction. */
const batch = 100;
/** Per attempt at a group, because each failure can take a database time-out. Failed rows move behind the others. */
const maxFailures = 3;
const isolation = 'read committed';

/** Charges deferred usage, one group at a time. Any number of workers can run it. */
export function createDeferredUsageCharger(options: {
  readonly db: Db;
  readonly log: Pick<Logger, 'warn' | 'error'>;
}): { step(signal?: AbortSignal): Promise<'busy' | 'idle'> } {
  const { db, log } = options;
  const runner = createItemRunner(chargeDeferredUsage, { db, log, claims: true });
  return {
    async step(signal) {
      const due = await listDueGroups(db, chargeDeferredUsage, db.clock.now(), runner.free);
      if (due.length === 0) return 'idle';
      const { done } = await runner.run(due, {
        key: groupKeyOf,
        work: (group, stop) => chargeGroup(options, group, stop),
        ...(signal === undefined ? {} : { signal }),
      });
      return done > 0 ? 'busy' : 'idle';
    },
  };
}

interface ChargeDeps {
  readonly db: Db;
  readonly log: Pick<Logger, 'error'>;
}

const positionKey = ({ stream, seq, position }: DeferredRow): string => `${stream} ${seq} ${position}`;

/** Charges rows until three have failed, then throws the first failure. */
async function chargeGroup(charging: ChargeDeps, group: DeferredGroup, stop: AbortSignal): Promise<void> {
  const failed = new Map<string, unknown>();
  while (!stop.aborted && failed.size < maxFailures) {
    const listed = await listDeferred(charging.db, group, batch);
    const found = listed.filter((row) => !failed.has(positionKey(row)));
    if (found.length === 0) break;
    try {
      await chargeRows(charging, found);
    } catch {
      await chargeOneByOne(charging, { found, failed }, stop);
    }
  }
  for (const problem of failed.values()) throw problem;
}

async function chargeOneByOne(
  { db, log }: ChargeDeps,
  { found, failed }: { readonly found: readonly DeferredRow[]; readonly failed: Map<string, unknown> },
  stop: AbortSignal,
): Promise<void> {
  for (const row of found) {
    if (stop.aborted || failed.size >= maxFailures) return;
    try {
      await chargeRows({ db, log }, [row]);
    } catch (error) {
      if (isDataError(error) || error instanceof RangeError || error instanceof UnreadableUsageError) {
        log.error(
          { err: error, stream: row.stream, seq: String(row.seq) },
          'quarantined deferred usage that cannot be charged',
        );
        await quarantineRow(db, row, error);
        continue;
      }
      failed.set(positionKey(row), error);
      await db.transaction({ name: 'count attempt', isolation }, (tx) => countDeferredAttempt(tx, row));
    }
  }
}

/** Charges and deletes the rows in one transaction. */
async function chargeRows(
  { db, log }: { readonly db: Db; readonly log: Pick<Logger, 'error'> },
  found: readonly DeferredRow[],
): Promise<void> {
  const recorded = await db.transaction({ name: 'charge deferred usage', isolation }, async (tx) => {
    const rows = await lockDeferred(tx, found);
    const charged = await writeRows(tx, rows);
    await deleteDeferred(tx, rows);
    return charged;
  });
  countCharged(recorded);
  if (recorded.overpriced > 0) {
    log.error({ count: recorded.overpriced }, 'usage above the maximum cost of its model was not charged');
  }
}

async function writeRows(tx: Tx, rows: readonly DeferredRow[]): Promise<UsageSummary> {
  const usage: ParsedUsage[] = [];
  for (const row of rows) if (row.kind === 'usage') usage.push(parseUsage(row.payload));
  const recorded = await writeUsage(tx, usage);
  for (const { kind, payload, stream, seq } of rows) {
    if (kind === 'end') await recordEpochEnd(tx, epochEndSchema.parse(payload), { stream, seq });
  }
  return recorded;
}

async function quarantineRow(db: Db, row: DeferredRow, error: unknown): Promise<void> {
  const { unreadable } = unreadableMessage(JSON.stringify(row.payload), error);
  await db.transaction({ name: 'put deferred usage aside', isolation }, async (tx) => {
    await quarantineUsage(
      tx,
      row.stream,
      unreadable.map((one) => ({ ...one, seq: row.seq, position: row.position })),
    );
    await deleteDeferred(tx, [row]);
  });
  countUnreadable(unreadable.length);
}
