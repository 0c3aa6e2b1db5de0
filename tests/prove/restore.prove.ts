import { defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { openDrillStack } from './restore/drill-stack.ts';
import { drill } from './restore/drill.ts';
import { measureLargeRestore } from './restore/large-restore.ts';

export const proof = defineProof({
  name: 'restore',
  company: 'alone',
  proves:
    'pgBackRest stores an encrypted backup and all WAL. After a time T credit is granted, requests are charged, a machine is rented, a card is charged, and invoices are made. The primary is killed and its data folder deleted, and PostgreSQL is restored to T. The product detects this, grants no credit beyond the holds of the ledger, deletes nothing and lists every later charge of a request, machine, payment, invoice and event. After millrace-admin restore confirm the audit is clean, event numbers continue above those that were read, and new rentals and requests succeed. The long form does more work, watches for longer, restores twice, and measures the restore of a database of 5 GB.',
  short: (run) => prove(run, { tenants: 2, requests: 3, watchMs: 3_000, restores: 1 }),
  long: async (run) => {
    const { figures, failures = [] } = await prove(run, {
      tenants: 6,
      requests: 25,
      watchMs: 90_000,
      restores: 2,
    });
    return { figures: { ...figures, ...(await measureLargeRestore(run, LARGE_BYTES)) }, failures };
  },
});

/** 5 GB. */
const LARGE_BYTES = 5_000_000_000;

export interface Size {
  readonly tenants: number;
  /** Number of requests per tenant after the restore point. */
  readonly requests: number;
  readonly watchMs: number;
  readonly restores: number;
}

async function prove(run: ProofRun, size: Size): Promise<ProofReport> {
  const stack = await openDrillStack();
  try {
    const startedMs = systemClock.monotonicMs();
    const report = await drill(run, stack, size);
    run.note(`the drill took ${Math.round(systemClock.monotonicMs() - startedMs)} ms`);
    return report;
  } catch (error) {
    run.note(stack.output().slice(-8_000));
    throw error;
  } finally {
    await stack.close();
  }
}
