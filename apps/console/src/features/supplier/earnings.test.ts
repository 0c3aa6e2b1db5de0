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
  it('has a bar for each day, including days without earnings', () => {
    const day = (text: string, earnedNanoUsd: string) => ({
      day: `${text}T00:00:00.000Z`,
      gpuSeconds: 1,
      earnedNanoUsd,
    });
    const chart = dayChart([day('2026-08-01', '1500000000'), day('2026-08-03', '-500000000')]);
    expect(chart.seconds).toHaveLength(3);
    expect(chart.series[0]?.values).toEqual([1.5, 0, -0.5]);
    expect(dayChart([]).seconds).toEqual([]);
  });
});
