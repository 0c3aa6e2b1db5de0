import { describe, expect, it } from 'vitest';
import { fakeApi, runCli } from '../fixture.ts';
import { sparkline } from '../text/sparkline.ts';
import { stepSecondsOf } from '@millrace/sdk/text';
import { summariseSeries } from './metrics.ts';

const at = '2026-03-01T11:30:00.000Z';
const points = (...values: readonly (number | null)[]) => values.map((value) => ({ at, value }));

describe('rental metrics', () => {
  it('show the last value, the mean and the maximum', () => {
    const series = {
      name: 'gpu.utilisation',
      unit: 'percent',
      device: '0',
      points: points(null, 50, 100, null),
    } as const;
    expect(summariseSeries({ ...series, points: [...series.points] })).toEqual({
      ...{ name: 'gpu.utilisation', device: '0' },
      ...{ last: '100.0 %', mean: '75.0 %', most: '100.0 %', course: ' ▅█ ' },
    });
    const empty = summariseSeries({ name: 'x', unit: 'bytes', device: null, points: points(null) });
    expect(empty).toMatchObject({ last: '', mean: '', most: '' });
  });

  it.each([
    ['bytes', 1_023, '1023 B'],
    ['bytes', 85_899_345_920, '80.0 GiB'],
    ['bytes_per_second', 1_536, '1.5 KiB/s'],
    ['watts', 699.6, '700 W'],
    ['celsius', 64.2, '64 °C'],
    ['count', 3, '3'],
  ] as const)('in %s show %d as %s', (unit, value, text) => {
    expect(summariseSeries({ name: 'x', unit, device: null, points: points(value) }).last).toBe(text);
  });

  it('are drawn to scale, with gaps where nothing was measured', () => {
    expect(sparkline([0, 50, 100, null, 12], 100)).toBe('▁▅█ ▁');
    expect(sparkline([0, 0], 0)).toBe('▁▁');
  });

  it('are requested at a step that fills a line, within the limits of the API', () => {
    expect(stepSecondsOf(3_600, 30)).toBe(120);
    expect(stepSecondsOf(60, 30)).toBe(10);
    expect(stepSecondsOf(10_000_000_000, 30)).toBe(86_400);
  });

  it('are shown as a table, or as missing if nothing was measured', async () => {
    const series = [
      { name: 'gpu.utilisation', unit: 'percent', device: '0', points: points(10, 90) },
      { name: 'network.in', unit: 'bytes_per_second', device: null, points: points(null) },
    ];
    const response = { rentalId: 7, from: at, until: at, stepSeconds: 120, series };
    const path = 'GET /v2/on-demand/rentals/7/metrics';
    const { fetch, requests } = fakeApi({ [path]: response });
    const shown = await runCli(['rental', 'metrics', '7'], { fetch });
    expect(shown.stdout).toMatch(/gpu\.utilisation +0 +90\.0 % +50\.0 % +90\.0 % +▁█/);
    expect(shown.stdout).not.toContain('network.in');
    expect(requests[0]?.query).toMatchObject({ stepSeconds: '120', from: '2026-03-01T11:00:00.000Z' });
    await runCli(['rental', 'metrics', '7', '--json'], { fetch });
    const none = await runCli(['rental', 'metrics', '7'], {
      fetch: fakeApi({ [path]: { ...response, series: [] } }).fetch,
    });
    expect(none).toMatchObject({ code: 0, stdout: '' });
    expect(none.stderr).toContain('Nothing was measured');
  });
});
