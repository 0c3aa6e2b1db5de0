import type { Db } from '@millrace/platform/db';
import { toUuid } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner } from '@millrace/platform/loops';
import { monthAfter } from '../../ledger/index.ts';
import { sumEarnings } from './earnings.store.ts';
import { statementsLoop } from '../loops.ts';
import { buildStatement, type DueStatement } from './statements.ts';
import { insertStatement, listDueStatements } from './statements.store.ts';

export interface StatementSweepOptions {
  readonly log: Logger;
  readonly limit: number;
}

/**
 * Writes due statements, oldest months first, and returns the number of due months. Concurrent workers write each once;
 * missed months are written in order.
 */
export async function writeDueStatements(db: Db, { log, limit }: StatementSweepOptions): Promise<number> {
  const due = await listDueStatements(db, db.clock.now(), limit);
  await createItemRunner(statementsLoop, { db, log }).run(due, {
    key: ({ supplierId }) => toUuid(supplierId),
    work: (one) => writeStatement(db, one),
  });
  return due.length;
}

async function writeStatement(db: Db, due: DueStatement): Promise<void> {
  const period = { periodStart: due.month, periodEnd: monthAfter(due.month) };
  await db.transaction({ name: 'write statement', isolation: 'read committed' }, async (tx) => {
    const machines = await sumEarnings(tx, due.orgId, { from: period.periodStart, until: period.periodEnd });
    await insertStatement(tx, due, buildStatement(tx.ids.next('stm'), period, machines));
  });
}
