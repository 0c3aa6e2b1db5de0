import type { Db } from '@millrace/platform/db';
import { toUuid } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner } from '@millrace/platform/loops';
import { monthAfter } from '../ledger/index.ts';
import { sumEarnings } from './earnings.store.ts';
import { writeStatements } from './loops.ts';
import { statementOf, type MonthDue } from './statements.ts';
import { insertStatement, listMonthsDue } from './statements.store.ts';

export interface StatementSweep {
  readonly log: Logger;
  readonly limit: number;
}

/**
 * Writes the statements that are due, oldest months first, and answers how many months it looked at. Two workers at once
 * write each once; one that was away writes the missing months one after the other.
 */
export async function writeDueStatements(db: Db, { log, limit }: StatementSweep): Promise<number> {
  const due = await listMonthsDue(db, db.clock.now(), limit);
  await createItemRunner(writeStatements, { db, log }).run(due, {
    key: ({ supplierId }) => toUuid(supplierId),
    work: (one) => writeStatement(db, one),
  });
  return due.length;
}

async function writeStatement(db: Db, due: MonthDue): Promise<void> {
  const period = { periodStart: due.month, periodEnd: monthAfter(due.month) };
  await db.transaction({ name: 'write statement', isolation: 'read committed' }, async (tx) => {
    const machines = await sumEarnings(tx, due.orgId, { from: period.periodStart, until: period.periodEnd });
    await insertStatement(tx, due, statementOf(tx.ids.next('stm'), period, machines));
  });
}
