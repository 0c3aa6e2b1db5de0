import { deleteExpiredEvents } from '@millrace/core/events';
import { sweepMaintenance } from '@millrace/core/fleet';
import { sweepDueKeys, type KeyExpiry } from '@millrace/core/identity';
import { makeDueInvoices } from '@millrace/core/invoices';
import { expirePromos, type RecallCredit } from '@millrace/core/ledger';
import { sweepDueShards } from '@millrace/core/metering';
import type { Payments } from '@millrace/core/payments';
import { createArchiver, createUsageArchiver, deleteFinished } from '@millrace/core/retention';
import { writeDueStatements } from '@millrace/core/suppliers';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { deleteExpiredOperations } from '@millrace/platform/http';
import type { Loop, StartLoop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import { createItemCleanup } from '@millrace/platform/loops';

export interface SweepOptions {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Logger;
  readonly startLoop: StartLoop;
  readonly keys: KeyExpiry;
  readonly payments: Payments;
  readonly recallMoney: RecallCredit;
  readonly issuer: string;
  /** 0 keeps events forever. */
  readonly eventRetentionMs: number;
  /** 0 archives nothing. */
  readonly archiveAfterMonths: number;
  /** 0 deletes no details of requests. */
  readonly requestsAfterMonths: number;
  readonly auditStatementTimeoutMs: number;
}

const DUE_KEYS_EVERY_MS = 5_000;
const RETENTION_EVERY_MS = 60_000;
const PAYMENTS_EVERY_MS = 60_000;
/** Interval per shard, over all workers; due work waits at most this plus one poll. */
const METERS_EVERY_MS = 30_000;
const METERS_POLL_MS = 5_000;
const METER_SHARDS = 16;
/** Expired credit cannot be spent in any case; this only updates the ledger. */
const PROMOS_EVERY_MS = 60_000;
/** Maximum delay of a window's start and end; its own times count. */
const MAINTENANCE_EVERY_MS = 5_000;
/** Statements are due monthly, so this delay is acceptable. */
const STATEMENTS_EVERY_MS = 300_000;
const INVOICES_EVERY_MS = 300_000;
const BATCH = 500;
const ARCHIVE_BATCH = 2_000;
/** Each item is a call to Stripe. */
const PAYMENTS_BATCH = 50;

/**
 * Sweeps read due work from PostgreSQL, so that it happens even if all timers were lost. Several workers may sweep concurrently,
 * because each action is guarded where it is executed.
 */
export function startSweeps(options: SweepOptions): Loop[] {
  const { db, clock, log, startLoop, keys, recallMoney } = options;
  const sweep = (name: string, idleMs: number, once: () => Promise<number>, batch = BATCH): Loop =>
    startLoop({ name, clock, log, idleMs, maxBackoffMs: idleMs }, async () =>
      (await once()) >= batch ? 'busy' : 'idle',
    );
  const sweeps = [
    sweep('close due api keys', DUE_KEYS_EVERY_MS, () => sweepDueKeys(db, { keys, limit: BATCH, log })),
    sweep(
      'ask about undecided payments',
      PAYMENTS_EVERY_MS,
      () => options.payments.checkDue(PAYMENTS_BATCH),
      PAYMENTS_BATCH,
    ),
    sweep(
      'post meters',
      METERS_POLL_MS,
      () => sweepDueShards(db, { log, recallMoney, everyMs: METERS_EVERY_MS, limit: METER_SHARDS }),
      METER_SHARDS,
    ),
    sweep('keep maintenance windows', MAINTENANCE_EVERY_MS, async () => {
      await sweepMaintenance(db, { log });
      return 0;
    }),
    sweep('take expired promotional credit', PROMOS_EVERY_MS, () => expirePromos(db, { log, limit: BATCH })),
    sweep('write statements of suppliers', STATEMENTS_EVERY_MS, () =>
      writeDueStatements(db, { log, limit: BATCH }),
    ),
    sweep('make invoices', INVOICES_EVERY_MS, () =>
      makeDueInvoices(db, { log, limit: BATCH, issuer: options.issuer }),
    ),
    sweep('forget items of loops', RETENTION_EVERY_MS, createItemCleanup(db, BATCH)),
    sweep('delete finished rows', RETENTION_EVERY_MS, () => deleteFinished(db, { log, limit: BATCH })),
    sweep('forget idempotency keys', RETENTION_EVERY_MS, () =>
      db.transaction({ name: 'forget idempotency keys', isolation: 'read committed' }, (tx) =>
        deleteExpiredOperations(tx, BATCH),
      ),
    ),
  ];
  const archive = { log, statementTimeoutMs: options.auditStatementTimeoutMs, batch: ARCHIVE_BATCH };
  const timing = { log, idleMs: RETENTION_EVERY_MS, maxBackoffMs: RETENTION_EVERY_MS };
  sweeps.push(
    startLoop(
      { name: 'archive closed months', clock, ...timing },
      createArchiver(db, { ...archive, afterMonths: options.archiveAfterMonths }),
    ),
    startLoop(
      { name: 'archive requests of closed months', clock, ...timing },
      createUsageArchiver(db, { ...archive, afterMonths: options.requestsAfterMonths }),
    ),
  );
  if (options.eventRetentionMs > 0) {
    const olderThanMs = options.eventRetentionMs;
    sweeps.push(
      sweep('forget old events', RETENTION_EVERY_MS, () =>
        db.transaction({ name: 'forget old events', isolation: 'read committed' }, (tx) =>
          deleteExpiredEvents(tx, { olderThanMs, limit: BATCH }),
        ),
      ),
    );
  }
  return sweeps;
}
