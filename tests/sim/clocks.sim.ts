import { defineSim, type Action } from '@millrace/runners';
import { withoutSweep } from './clocks/coverage.ts';
import { loopsOfCode } from './clocks/loops.ts';
import { auditFindings, changesAt, sweepUntilStable } from './clocks/run.ts';
import { sweeps } from './clocks/sweeps.ts';
import { createClockHarness, type ClockHarness } from './clocks/harness.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

interface State {
  readonly harness: ClockHarness;
  /** Changes that only sweeps with a wrong clock made. */
  readonly wrong: string[];
  tried: number;
}

const offsets: Readonly<Record<string, number>> = {
  'a day behind': -DAY_MS,
  'an hour behind': -HOUR_MS,
  '40 minutes ahead': 40 * MINUTE_MS,
  'a day ahead': DAY_MS,
  '40 days ahead': 40 * DAY_MS,
};

const note = (state: State, what: string, changes: readonly string[]): void => {
  state.tried += 1;
  state.wrong.push(...changes.map((change) => `${what}: ${change}`));
};

const sweepAt = ([name, offsetMs]: [string, number]): [string, Action<State>] => [
  `sweeps with a clock ${name}`,
  { weight: 2, run: async (state) => note(state, name, await changesAt(state.harness, () => offsetMs)) },
];

export const sim = defineSim<State>({
  name: 'clocks',
  about: 'Finds code that charges, ends or deletes too early because the clock of its process is wrong.',
  async init() {
    const known = new Set([...Object.keys(sweeps), ...Object.keys(withoutSweep)]);
    const unknown = loopsOfCode().filter((loop) => !known.has(loop));
    if (unknown.length > 0) {
      throw new Error(
        `These loops have no sweep in this simulation: ${unknown.join(', ')}. Add each to sweeps.ts, with test data that ` +
          'is due in harness.ts, or to coverage.ts with the reason why it needs none.',
      );
    }
    const harness = await createClockHarness();
    await sweepUntilStable(harness);
    return { harness, wrong: [], tried: 0 };
  },
  actions: {
    ...Object.fromEntries(Object.entries(offsets).map(sweepAt)),
    'the clock steps during the sweeps': {
      weight: 2,
      run: async (state, random) => {
        const steps = Object.values(offsets);
        let reads = 0;
        // Each reading returns another time, forwards and backwards, between and within sweeps.
        const stepping = (): number => steps[Math.trunc((reads += 1) * 0.2) % steps.length] ?? 0;
        reads = random.int(0, 24);
        note(state, 'a clock that steps', await changesAt(state.harness, stepping));
      },
    },
    'time passes': {
      weight: 3,
      run: async ({ harness }, random) => {
        const ms = random.pick([MINUTE_MS, 20 * MINUTE_MS, HOUR_MS, 7 * HOUR_MS, 26 * HOUR_MS]);
        await harness.advance(ms + random.int(0, MINUTE_MS));
        await sweepUntilStable(harness);
      },
    },
  },
  validators: {
    'sweeps with a wrong clock change nothing after sweeps with the right clock'({ wrong }) {
      return wrong.length === 0 ? undefined : wrong.slice(0, 10).join('; ');
    },
    async 'the audit is clean'({ harness }) {
      const findings = await auditFindings(harness);
      return findings.length === 0 ? undefined : findings.slice(0, 5).join('; ');
    },
  },
  validateEvery: 5,
  shrinkAttempts: 0,
  ciEvents: 12,
  close: ({ harness }) => harness.drop(),
});
