import { describe, expect, it } from 'vitest';
import { downtimeSeconds, reliabilityFaults } from './reliability-faults.ts';

const day = 86_400;
/** As the service computes it, in millionths. */
const uptimeOf = (up: number, watched: number): number =>
  Math.floor(((up + 0.9 * day) / (watched + day)) * 1e6) / 1e6;
const machine = {
  score: 0.9,
  uptime: 0.9,
  starting: 0.9,
  watchedSeconds: 0,
  starts: 0,
  failedStarts: 0,
  losses: 0,
  quarantines: 0,
  measuredUntil: '2026-11-18T12:00:00.000Z',
};

describe('downtimeSeconds', () => {
  it('is zero for a machine that always responded, new or old', () => {
    expect(downtimeSeconds({ uptime: 0.9, watchedSeconds: 0 })).toBe(0);
    expect(downtimeSeconds({ uptime: uptimeOf(3 * day, 3 * day), watchedSeconds: 3 * day })).toBe(0);
    expect(downtimeSeconds({ uptime: uptimeOf(30 * day, 30 * day), watchedSeconds: 30 * day })).toBe(0);
  });

  it('is the measured time without a response', () => {
    const watchedSeconds = 30 * day;
    const found = downtimeSeconds({
      uptime: uptimeOf(watchedSeconds - 7_200, watchedSeconds),
      watchedSeconds,
    });
    expect(Math.abs(found - 7_200)).toBeLessThan(5);
  });
});

describe('reliabilityFaults', () => {
  it('names only what happened', () => {
    expect(reliabilityFaults(machine)).toBeNull();
    expect(reliabilityFaults({ ...machine, losses: 1 })).toBe('In the last 30 days, 1 instance was lost.');
    expect(reliabilityFaults({ ...machine, failedStarts: 2, losses: 3 })).toBe(
      'In the last 30 days, 2 instances failed to start and 3 instances were lost.',
    );
  });

  it('says how long the machine did not respond', () => {
    const watchedSeconds = 30 * day;
    const uptime = uptimeOf(watchedSeconds - 7_200, watchedSeconds);
    expect(reliabilityFaults({ ...machine, watchedSeconds, uptime })).toMatch(/it did not respond for .*2 h/);
  });
});
