import { findingsOf, runAudit } from '@millrace/core/auditor';
import { allEvents, runEvents, type SimResult } from '@millrace/runners';
import { lastTally, sim } from '../../sim/ledger.sim.ts';
import type { LedgerHarness } from '../../sim/ledger/harness.ts';

/** Runs one seed of the simulation with its own validators and audits the database before it is dropped. */

export interface SeedRun {
  readonly seed: number;
  readonly failure: SimResult['failure'];
  readonly happened: SimResult['happened'];
  readonly tally: Readonly<Record<string, number>>;
  readonly audit: { readonly checked: number; readonly complaints: readonly string[] };
}

export async function playAudited(seed: number, events: number): Promise<SeedRun> {
  let audit: SeedRun['audit'] = { checked: 0, complaints: ['The audit did not run.'] };
  const audited = {
    ...sim,
    async close(state: unknown): Promise<void> {
      try {
        audit = await auditLedger(state as LedgerHarness);
      } finally {
        await sim.close?.(state);
      }
    },
  };
  const { failure, happened } = await runEvents(audited, seed, allEvents(events));
  return { seed, failure, happened, tally: lastTally(), audit };
}

/** These checks need payments, payouts and owners, which the simulation does not have. */
const needsOtherTables: ReadonlySet<string> = new Set([
  'top_up_has_payment',
  'transfer_has_payout',
  'hold_has_owner',
]);

async function auditLedger({ database }: LedgerHarness): Promise<SeedRun['audit']> {
  const report = await runAudit(database.db, { kind: 'full' });
  if (report === null) throw new Error('Another audit of the same database is running.');
  return {
    checked: report.outcomes.reduce((sum, { lookedAt }) => sum + lookedAt, 0),
    complaints: findingsOf(report, 'error')
      .filter(({ check }) => !needsOtherTables.has(check))
      .map(({ check, sentence }) => `${check}: ${sentence}`),
  };
}
