import { machineStateNames, type MachineState } from '@millrace/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  measureUptime,
  zeroCounters,
  computeReliability,
  type StateChange,
  type TimeSpan,
  type ReliabilityCounters,
  type ObservedNode,
} from './reliability.ts';

const at = (ms: number): Date => new Date(1_800_000_000_000 + ms);
const stretch = (from: number, to: number): TimeSpan => ({ from: at(from), to: at(to) });

function watched(fields: Partial<ObservedNode> = {}): ObservedNode {
  const span = stretch(0, 1_000);
  return { span, watch: span, state: 'node_ready', changes: [], away: [], ...fields };
}

const addCounters = (one: ReliabilityCounters, other: ReliabilityCounters): ReliabilityCounters => ({
  watchedMs: one.watchedMs + other.watchedMs,
  upMs: one.upMs + other.upMs,
  starts: one.starts + other.starts,
  failedStarts: one.failedStarts + other.failedStarts,
  losses: one.losses + other.losses,
});

describe('measureUptime', () => {
  it('counts ready and draining as up and offline as down', () => {
    const changes: StateChange[] = [
      { at: at(100), to: 'node_offline' },
      { at: at(400), to: 'node_draining' },
    ];
    expect(measureUptime(watched({ changes }))).toEqual({ watchedMs: 1_000, upMs: 700 });
  });

  it.each(['node_registering', 'node_quarantined', 'node_removed'] as const)('does not count %s', (state) => {
    expect(measureUptime(watched({ state }))).toEqual({ watchedMs: 0, upMs: 0 });
  });

  it('does not count time without observation', () => {
    const offline = { state: 'node_offline' } as const;
    expect(measureUptime(watched({ ...offline, watch: null }))).toEqual({ watchedMs: 0, upMs: 0 });
    const watch = stretch(900, 2_000);
    expect(measureUptime(watched({ ...offline, watch }))).toEqual({ watchedMs: 100, upMs: 0 });
  });

  it('does not count downtime in announced maintenance, also with overlapping windows', () => {
    const away = [stretch(100, 300), stretch(200, 400), stretch(150, 160), stretch(-50, 20)];
    expect(measureUptime(watched({ state: 'node_offline', away }))).toEqual({ watchedMs: 680, upMs: 0 });
    expect(measureUptime(watched({ away }))).toEqual({ watchedMs: 1_000, upMs: 1_000 });
  });

  const state = fc.constantFrom<MachineState>(...machineStateNames);
  const anyStretch = fc
    .tuple(fc.integer({ min: -500, max: 1_500 }), fc.integer({ min: 0, max: 1_500 }))
    .map(([from, ms]) => stretch(from, from + ms));
  const anyWatched = fc
    .record({
      watch: fc.option(anyStretch),
      state,
      changes: fc.array(fc.record({ at: fc.integer({ min: 0, max: 1_500 }), to: state }), { maxLength: 8 }),
      away: fc.array(anyStretch, { maxLength: 4 }),
    })
    .map(({ changes, ...others }) =>
      watched({
        ...others,
        changes: changes
          .toSorted((one, other) => one.at - other.at)
          .map(({ at: ms, to }) => ({ at: at(ms), to })),
      }),
    );

  it('is additive over consecutive spans', () => {
    fc.assert(
      fc.property(anyWatched, fc.integer({ min: 0, max: 1_000 }), (all, cut) => {
        const first = { ...all, span: stretch(0, cut) };
        const passed = all.changes.filter((change) => change.at <= at(cut));
        const second = {
          ...all,
          span: stretch(cut, 1_000),
          state: passed.at(-1)?.to ?? all.state,
          changes: all.changes.filter((change) => change.at > at(cut)),
        };
        const uptimes = [measureUptime(first), measureUptime(second)];
        const sum = uptimes.reduce((total, part) => ({
          watchedMs: total.watchedMs + part.watchedMs,
          upMs: total.upMs + part.upMs,
        }));
        expect(sum).toEqual(measureUptime(all));
      }),
    );
  });

  it('is between zero and the length of the span', () => {
    fc.assert(
      fc.property(anyWatched, (all) => {
        const { watchedMs, upMs } = measureUptime(all);
        expect(upMs).toBeGreaterThanOrEqual(0);
        expect(upMs).toBeLessThanOrEqual(watchedMs);
        expect(watchedMs).toBeLessThanOrEqual(1_000);
      }),
    );
  });
});

describe('computeReliability', () => {
  const count = fc.integer({ min: 0, max: 100_000 });
  const figures = fc
    .record({
      watchedMs: fc.integer({ min: 0, max: 31 * 86_400_000 }),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
      starts: count,
      failedStarts: count,
      losses: count,
    })
    .map(({ part, ...others }): ReliabilityCounters => ({
      ...others,
      upMs: Math.floor(others.watchedMs * part),
    }));

  it('gives a new machine a good score, but not the best', () => {
    expect(computeReliability(zeroCounters)).toEqual({ score: 810_000, uptime: 900_000, starting: 900_000 });
  });

  it('gives a perfect month almost 1 and permanent downtime almost 0', () => {
    const month = 30 * 86_400_000;
    const good = computeReliability({ ...zeroCounters, watchedMs: month, upMs: month, starts: 300 });
    expect(good.score).toBeGreaterThan(990_000);
    expect(computeReliability({ ...zeroCounters, watchedMs: month }).score).toBeLessThan(30_000);
  });

  it('is between zero and the smaller of its parts', () => {
    fc.assert(
      fc.property(figures, (shown) => {
        const { score, uptime, starting } = computeReliability(shown);
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(Math.min(uptime, starting));
        expect(Math.max(uptime, starting)).toBeLessThanOrEqual(1_000_000);
      }),
    );
  });

  it('never falls after a success and never rises after a failure', () => {
    const better = [
      { ...zeroCounters, starts: 1 },
      { ...zeroCounters, watchedMs: 60_000, upMs: 60_000 },
    ];
    const worse = [
      { ...zeroCounters, failedStarts: 1 },
      { ...zeroCounters, losses: 1 },
      { ...zeroCounters, watchedMs: 60_000 },
    ];
    fc.assert(
      fc.property(figures, (shown) => {
        const { score } = computeReliability(shown);
        for (const more of better) {
          expect(computeReliability(addCounters(shown, more)).score).toBeGreaterThanOrEqual(score);
        }
        for (const more of worse) {
          expect(computeReliability(addCounters(shown, more)).score).toBeLessThanOrEqual(score);
        }
      }),
    );
  });

  it('falls more after a loss than after a failed start', () => {
    const base = { ...zeroCounters, starts: 50 };
    const lost = computeReliability({ ...base, losses: 1 }).score;
    expect(lost).toBeLessThan(computeReliability({ ...base, failedStarts: 1 }).score);
  });
});
