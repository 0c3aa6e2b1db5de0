import { isDataError, type Db } from '@millrace/platform/db';
import { hasDemoMark, insertDemoMark } from './demo-mark.store.ts';

/** Decides at the start of a process whether it may use this database: play money must never become real money. */

/** Throws if the setting MILLRACE_DEMO and the database disagree. The first process of a demo marks the database. */
export async function applyDemoSetting(db: Db, isDemo: boolean): Promise<void> {
  const isMarked = await hasDemoMark(db);
  if (isMarked === isDemo) return;
  if (isMarked) {
    throw new Error(
      'This database belongs to a demo: its balances are play money. Set MILLRACE_DEMO=true, or use another database.',
    );
  }
  try {
    await db.transaction({ name: 'mark demo', isolation: 'read committed' }, insertDemoMark);
  } catch (error) {
    if (!isDataError(error)) throw error;
    throw new Error(
      'This database has money in its ledger and cannot become a demo. Unset MILLRACE_DEMO, or use a new database.',
      { cause: error },
    );
  }
}

/** Whether a process with MILLRACE_DEMO has used this database. */
export function isDemoDatabase(db: Db): Promise<boolean> {
  return hasDemoMark(db);
}

/** The issuer on invoices. Those of a demo say that nothing is payable. */
export function invoiceIssuer(issuer: string, isDemo: boolean): string {
  return isDemo ? `${issuer}\nDemo: play money, nothing is payable.` : issuer;
}
