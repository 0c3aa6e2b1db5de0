import type { Db } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';
import { monthAfter } from '../ledger/index.ts';
import { sumEarnings } from './earnings.store.ts';
import { statementOf, type MonthDue } from './statements.ts';
import { insertStatement, listMonthsDue } from './statements.store.ts';

export interface StatementSweep {
  readonly now: Date;
  readonly log: Logger;
  readonly limit: number;
}

/**
 * Writes the statements that are due, oldest months first, and answers how many months it looked at. Two workers at once
 * write each once; one that was away writes the missing months one after the other.
 */
export async function writeDueStatements(db: Db, { now, log, limit }: StatementSweep): Promise<number> {
  const due = await listMonthsDue(db, now, limit);
  for (const one of due) {
    try {
      await writeStatement(db, one);
    } catch (error) {
      // One supplier's month must not keep the others from theirs. It is tried again with the next sweep.
      const { supplierId, month } = one;
      log.error({ err: error, supplierId, month: month.toISOString() }, 'A statement could not be written.');
    }
  }
  return due.length;
}

async function writeStatement(db: Db, due: MonthDue): Promise<void> {
  const period = { periodStart: due.month, periodEnd: monthAfter(due.month) };
  await db.transaction({ name: 'write statement', isolation: 'read committed' }, async (tx) => {
    const machines = await sumEarnings(tx, due.orgId, { from: period.periodStart, until: period.periodEnd });
    await insertStatement(tx, due, statementOf(tx.ids.next('stm'), period, machines));
  });
}
