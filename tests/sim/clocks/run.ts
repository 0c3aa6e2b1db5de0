import { findingsOf, runAudit } from '@millrace/core/auditor';
import type { Db } from '@millrace/platform/db';
import { differences, databaseDigest } from './digest.ts';
import { withWrongClock } from './process-clock.ts';
import { sweeps } from './sweeps.ts';
import type { ClockHarness } from './harness.ts';

const realNowMs = Date.now;

/** Runs `work` while the process's wall clock is this far from the database clock. */
export function atOffset<T>(
  harness: ClockHarness,
  offsetMs: () => number,
  work: () => Promise<T>,
): Promise<T> {
  return withWrongClock(() => harness.rentals.clock.nowMs() + offsetMs() - realNowMs(), work);
}

export type Figures = ReadonlyMap<string, string>;

export async function figuresOf({ rentals, volumes }: ClockHarness): Promise<Figures> {
  const both = await Promise.all([databaseDigest(rentals.database), databaseDigest(volumes.database)]);
  return new Map(
    both.flatMap((digest, index) => [...digest].map(([name, value]) => [`${index} ${name}`, value])),
  );
}

async function sweepOnce(harness: ClockHarness, db: Db): Promise<void> {
  for (const sweep of Object.values(sweeps)) await sweep(harness, db);
}

const ROUNDS_MAX = 12;

/** Sweeps with the correct clock until no sweep changes the database any more. */
export async function sweepUntilStable(harness: ClockHarness): Promise<void> {
  let before = await figuresOf(harness);
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    await atOffset(
      harness,
      () => 0,
      () => sweepOnce(harness, harness.rentals.db),
    );
    const after = await figuresOf(harness);
    if (differences(before, after).length === 0) return;
    before = after;
  }
  throw new Error('The sweeps still change the database after the maximum number of rounds.');
}

/** Everything that sweeps with a wrong clock change after sweepUntilStable. */
export async function changesAt(harness: ClockHarness, offsetMs: () => number): Promise<readonly string[]> {
  const before = await figuresOf(harness);
  await atOffset(harness, offsetMs, () => sweepOnce(harness, harness.rentals.db));
  return differences(before, await figuresOf(harness));
}

/**
 * The changes of one sweep if its transactions used the wall clock of the process, and the figures after it. `before` are the
 * figures after the previous sweep.
 */
export async function changesIfBroken(
  harness: ClockHarness,
  before: Figures,
  { name, offsetMs }: { readonly name: string; readonly offsetMs: number },
): Promise<{ readonly changes: readonly string[]; readonly after: Figures }> {
  const sweep = sweeps[name];
  await atOffset(
    harness,
    () => offsetMs,
    async () => sweep?.(harness, harness.atProcessTime(harness.rentals.db)),
  );
  const after = await figuresOf(harness);
  return { changes: differences(before, after), after };
}

/** Findings of a full audit of both databases, except that the tenants' seeded money has no payment. */
export async function auditFindings({ rentals, volumes }: ClockHarness): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { db } of [rentals, volumes]) {
    const report = await runAudit(db, { kind: 'full', whenBusy: 'unrecorded' });
    if (report === null) throw new Error('The audit did not run.');
    const errors = findingsOf(report, 'error').filter(({ check }) => check !== 'top_up_has_payment');
    found.push(...errors.map((finding) => JSON.stringify(finding)));
  }
  return found;
}
