import { defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { openDrillStack } from './restore/drill-stack.ts';
import { drill } from './restore/drill.ts';

/** PostgreSQL is lost and restored from a base backup and its archived WAL to a point before the newest work. */
export const proof = defineProof({
  name: 'restore',
  company: 'alone',
  proves:
    'PostgreSQL is restored from a base backup and archived WAL to a named point; credit was lent, machines rented, cards charged and events read after it. The product finds out, lends nothing beyond the holds of the ledger, removes no machine and lists everything that is newer. After millrace-admin restore confirm the audit is clean, events go on above the numbers that were read, and new rentals and requests succeed. The long form does more work, watches for longer and restores twice.',
  short: (run) => prove(run, { tenants: 2, requests: 3, watchMs: 3_000, restores: 1 }),
  long: (run) => prove(run, { tenants: 6, requests: 25, watchMs: 90_000, restores: 2 }),
});

export interface Size {
  readonly tenants: number;
  /** Of each tenant, after the point. */
  readonly requests: number;
  /** How long the blocked product is watched. */
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
