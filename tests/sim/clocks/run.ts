import { findingsOf, runAudit } from '@millrace/core/auditor';
import type { Db } from '@millrace/platform/db';
import { differences, databaseDigest } from './digest.ts';
import { withWrongClock } from './process-clock.ts';
import { sweeps } from './sweeps.ts';
import type { ClockHarness } from './harness.ts';

const realNowMs = Date.now;

/** Works with the wall clock of the process this far from the clock of the database. */
export function atOffset<T>(
  harness: ClockHarness,
  offsetMs: () => number,
  work: () => Promise<T>,
): Promise<T> {
  return withWrongClock(() => harness.rentals.clock.nowMs() + offsetMs() - realNowMs(), work);
}

type Figures = ReadonlyMap<string, string>;

async function figuresOf({ rentals, volumes }: ClockHarness): Promise<Figures> {
  const both = await Promise.all([databaseDigest(rentals.database), databaseDigest(volumes.database)]);
  return new Map(
    both.flatMap((digest, index) => [...digest].map(([name, value]) => [`${index} ${name}`, value])),
  );
}

async function sweepOnce(harness: ClockHarness, db: Db): Promise<void> {
  for (const sweep of Object.values(sweeps)) await sweep(harness, db);
}

const ROUNDS_MAX = 12;

/** Sweeps with the right clock until nothing is left to be done at this time of the database. */
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
  throw new Error('The sweeps never come to rest.');
}

/** Everything that the sweeps change with a wrong clock, after the right clock has left nothing to be done. */
export async function changesAt(harness: ClockHarness, offsetMs: () => number): Promise<readonly string[]> {
  const before = await figuresOf(harness);
  await atOffset(harness, offsetMs, () => sweepOnce(harness, harness.rentals.db));
  return differences(before, await figuresOf(harness));
}

/** What one sweep changes if its transactions go by the wall clock of the process, as they once did. */
export async function changesIfBroken(
  harness: ClockHarness,
  name: string,
  offsetMs: number,
): Promise<readonly string[]> {
  const before = await figuresOf(harness);
  const sweep = sweeps[name];
  await atOffset(
    harness,
    () => offsetMs,
    async () => sweep?.(harness, harness.atProcessTime(harness.rentals.db)),
  );
  return differences(before, await figuresOf(harness));
}

/** Findings of a full audit of both databases; the money of the tenants was never paid in, which is not one. */
export async function auditFindings({ rentals, volumes }: ClockHarness): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { db } of [rentals, volumes]) {
    const report = await runAudit(db, { kind: 'full', whenBusy: 'unrecorded' });
    if (report === null) throw new Error('Nothing was audited.');
    const errors = findingsOf(report, 'error').filter(({ check }) => check !== 'top_up_has_payment');
    found.push(...errors.map((finding) => JSON.stringify(finding)));
  }
  return found;
}
