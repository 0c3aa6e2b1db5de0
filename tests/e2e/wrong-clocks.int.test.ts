import { afterAll, beforeAll, expect, test } from 'vitest';
import { withoutTestData, withoutSweep } from '../sim/clocks/coverage.ts';
import { loopsOfCode } from '../sim/clocks/loops.ts';
import { auditFindings, changesAt, changesIfBroken, figuresOf, sweepUntilStable } from '../sim/clocks/run.ts';
import { sweeps } from '../sim/clocks/sweeps.ts';
import { createClockHarness, type ClockHarness } from '../sim/clocks/harness.ts';

/** Checks that wrong process clocks change nothing, and that `npm run sim -- clocks` would detect it if they did. */

const HOUR_MS = 3_600_000;
let harness: ClockHarness;

beforeAll(async () => {
  harness = await createClockHarness();
  await sweepUntilStable(harness);
});
afterAll(() => harness.drop());

test('every loop of api and worker is simulated with wrong clocks or has a reason not to be', () => {
  const known = new Set([...Object.keys(sweeps), ...Object.keys(withoutSweep)]);
  expect(loopsOfCode().filter((loop) => !known.has(loop))).toEqual([]);
});

test('sweeps with a clock 25 hours ahead charge, end or delete nothing', async () => {
  expect(await changesAt(harness, () => 25 * HOUR_MS)).toEqual([]);
  expect(await auditFindings(harness)).toEqual([]);
});

test('the simulation detects each sweep that uses the clock of its process', async () => {
  const unnoticed = new Set(Object.keys(sweeps).filter((name) => !(name in withoutTestData)));
  let figures = await figuresOf(harness);
  // Smaller offsets first, because a clock 40 days ahead ends everything that the other offsets could end.
  for (const offsetMs of [(2 / 3) * HOUR_MS, 25 * HOUR_MS, 40 * 24 * HOUR_MS]) {
    // Post meters first each time, because other sweeps depend on the balances that meters empty.
    for (const name of new Set(['post meters', ...unnoticed])) {
      const { changes, after } = await changesIfBroken(harness, figures, { name, offsetMs });
      figures = after;
      if (changes.length > 0) unnoticed.delete(name);
    }
  }
  expect([...unnoticed]).toEqual([]);
});
