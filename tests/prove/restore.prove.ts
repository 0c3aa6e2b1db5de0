import { defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { openDrillStack } from './restore/drill-stack.ts';
import { drill } from './restore/drill.ts';

export const proof = defineProof({
  name: 'restore',
  company: 'alone',
  proves:
    'PostgreSQL is restored from a base backup and archived WAL to a named point. After that point credit was granted, machines were rented, cards charged and events read. The product detects the restore, grants no credit beyond the holds of the ledger, removes no machine and lists all newer work. After millrace-admin restore confirm the audit is clean, event numbers continue above those that were read, and new rentals and requests succeed. The long form does more work, watches for longer and restores twice.',
  short: (run) => prove(run, { tenants: 2, requests: 3, watchMs: 3_000, restores: 1 }),
  long: (run) => prove(run, { tenants: 6, requests: 25, watchMs: 90_000, restores: 2 }),
});

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
