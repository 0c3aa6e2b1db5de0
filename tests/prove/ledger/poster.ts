import { writeSync } from 'node:fs';
import { applyLedger, requireLedgerSuccess, type LedgerCommand } from '@millrace/core/ledger';
import { systemClock } from '@millrace/platform/clock';
import { createDb } from '@millrace/platform/db';
import { createIdSource, type HoldId, type OrgId } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { buildBatch, type BatchScope } from './batches.ts';

/**
 * A posting process, killed at any point. It posts batches concurrently and prints the number of each committed batch; the next
 * process repeats all batches that were not printed.
 */

interface PosterConfig extends BatchScope {
  readonly url: string;
  readonly atOnce: number;
  readonly from: number;
  /** Null: runs until killed. */
  readonly until: number | null;
  readonly done: readonly number[];
}

const config = JSON.parse(process.argv[2] ?? '{}') as PosterConfig & { orgIds: OrgId[] };
const db = createDb({
  url: config.url,
  poolSize: config.atOnce,
  ids: createIdSource({ clock: systemClock, cell: config.poster }),
  log: createLogger({ name: 'poster', level: 'silent' }),
});

/** Synchronous, because output that the kernel has accepted survives a kill of the process. */
const print = (line: string): void => void writeSync(1, `${line}\n`);

const apply = (commands: readonly LedgerCommand[]) =>
  db.transaction({ name: 'post', isolation: 'read committed' }, (tx) => applyLedger(tx, commands));

async function postOne(batch: number): Promise<void> {
  const order = buildBatch(config, batch);
  const results = (await apply(order.first)).map((result) => requireLedgerSuccess(result));
  const holdIds = results.flatMap(({ holdId }): HoldId[] => (holdId === null ? [] : [holdId]));
  (await apply(order.afterwards(holdIds))).map((result) => requireLedgerSuccess(result));
}

async function postUntilKnown(batch: number): Promise<void> {
  for (;;) {
    try {
      return await postOne(batch);
    } catch (error) {
      // The connection may have been cut. The outcome of the commit is unknown, so the whole batch is repeated.
      print(`again ${batch} ${error instanceof Error ? error.message.replaceAll('\n', ' ') : 'unknown'}`);
      await systemClock.sleep(5);
    }
  }
}

const skipped = new Set(config.done);
let next = config.from;
async function work(): Promise<void> {
  while (config.until === null || next < config.until) {
    const batch = next;
    next += 1;
    if (skipped.has(batch)) continue;
    print(`begun ${batch}`);
    await postUntilKnown(batch);
    print(`done ${batch}`);
  }
}

print('ready');
await Promise.all(Array.from({ length: config.atOnce }, work));
await db.close();
