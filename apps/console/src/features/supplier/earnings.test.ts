import { describe, expect, it } from 'vitest';
import { dayChart, earningsPeriod } from './earnings.ts';

describe('earningsPeriod', () => {
  it('includes its last day', () => {
    expect(earningsPeriod({ from: '2026-08-01', until: '2026-08-01' })).toEqual({
      from: '2026-08-01T00:00:00.000Z',
      until: '2026-08-02T00:00:00.000Z',
    });
  });

  it('uses the default of the service for invalid input', () => {
    expect(earningsPeriod({})).toEqual({});
    expect(earningsPeriod({ from: 'yesterday', until: '2026-13-45' })).toEqual({});
  });

  it('returns null if it ends before it starts', () => {
    expect(earningsPeriod({ from: '2026-08-02', until: '2026-08-01' })).toBeNull();
  });
});

describe('dayChart', () => {
  const day = (text: string, earnedNanoUsd: string) => ({
    day: `${text}T00:00:00.000Z`,
    gpuSeconds: 1,
    earnedNanoUsd,
  });

  it('has a bar for each day, including days without earnings', () => {
    const days = [day('2026-08-01', '1500000000'), day('2026-08-03', '-500000000')];
    const chart = dayChart(days, { firstDay: '2026-08-01', lastDay: '2026-08-03' });
    expect(chart.seconds).toHaveLength(3);
    expect(chart.series[0]?.values).toEqual([1.5, 0, -0.5]);
  });

  it('covers the whole period if only one day has earnings', () => {
    const period = { firstDay: '2026-11-01', lastDay: '2026-11-19' };
    const chart = dayChart([day('2026-11-19', '9000000000')], period);
    expect(chart.seconds).toHaveLength(19);
    expect(chart.seconds[0]).toBe(Date.parse('2026-11-01') * 0.001);
    expect(chart.series[0]?.values.filter((value) => value !== 0)).toEqual([9]);
  });
});
