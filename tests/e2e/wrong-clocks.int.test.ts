import { afterAll, beforeAll, expect, test } from 'vitest';
import { withoutTestData, withoutSweep } from '../sim/clocks/coverage.ts';
import { loopsOfCode } from '../sim/clocks/loops.ts';
import { auditFindings, changesAt, changesIfBroken, sweepUntilStable } from '../sim/clocks/run.ts';
import { sweeps } from '../sim/clocks/sweeps.ts';
import { createClockHarness, type ClockHarness } from '../sim/clocks/harness.ts';

/** The world of `npm run sim -- clocks`: what a wrong clock does in it, and that the simulation would notice. */

const HOUR_MS = 3_600_000;
let harness: ClockHarness;

beforeAll(async () => {
  harness = await createClockHarness();
  await sweepUntilStable(harness);
});
afterAll(() => harness.drop());

test('every loop of api and worker is swept with wrong clocks or has a reason why not', () => {
  const known = new Set([...Object.keys(sweeps), ...Object.keys(withoutSweep)]);
  expect(loopsOfCode().filter((loop) => !known.has(loop))).toEqual([]);
});

test('sweeps with a clock 25 hours ahead charge, end and delete nothing', async () => {
  expect(await changesAt(harness, () => 25 * HOUR_MS)).toEqual([]);
  expect(await auditFindings(harness)).toEqual([]);
});

test('each sweep is noticed if it goes by the clock of its process', async () => {
  const unnoticed = new Set(Object.keys(sweeps).filter((name) => !(name in withoutTestData)));
  // The nearer offsets first: a clock that is 40 days ahead ends everything that the others could have ended.
  for (const offsetMs of [(2 / 3) * HOUR_MS, 25 * HOUR_MS, 40 * 24 * HOUR_MS]) {
    // Meters first, each time: the balances that they empty are what some of the others act on.
    for (const name of new Set(['post meters', ...unnoticed])) {
      const changes = await changesIfBroken(harness, name, offsetMs);
      if (changes.length > 0) unnoticed.delete(name);
    }
  }
  expect([...unnoticed]).toEqual([]);
});
