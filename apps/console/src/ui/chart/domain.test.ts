import { expect, test } from 'vitest';
import { axisRange, leastZoom, wholeRange } from './domain.ts';
import { zoomAround } from './zoom.ts';

const day = 86_400;
const at = Date.parse('2026-11-19T00:00:00Z') * 0.001;
/** uPlot adds this to a single sample when it resets the time axis. */
const uPlotDefault = 1_000 * day;

test('the axis of a single bar is its day', () => {
  const whole = wholeRange([at], 'bars');
  expect(whole).toEqual({ min: at - day * 0.5, max: at + day * 0.5 });
  expect(axisRange({ low: at, high: at + uPlotDefault }, { seconds: [at], whole })).toEqual([
    whole.min,
    whole.max,
  ]);
});

test('the axis of a line with a single sample is ten minutes around it', () => {
  const whole = wholeRange([at], 'line');
  expect(whole).toEqual({ min: at - 300, max: at + 300 });
  expect(axisRange({ low: at, high: at + uPlotDefault }, { seconds: [at], whole })).toEqual([
    whole.min,
    whole.max,
  ]);
});

test('the axis of bars has half a day before the first and after the last bar', () => {
  const seconds = [at, at + day, at + 2 * day];
  const whole = wholeRange(seconds, 'bars');
  expect(axisRange({ low: at, high: at + 2 * day }, { seconds, whole })).toEqual([
    at - day * 0.5,
    at + day * 2.5,
  ]);
});

test('the axis shows the range that a zoom requests', () => {
  const seconds = [at, at + 30, at + 60, at + 90];
  const whole = wholeRange(seconds, 'line');
  expect(whole).toEqual({ min: at, max: at + 90 });
  expect(axisRange({ low: at, high: at + 60 }, { seconds, whole })).toEqual([at, at + 60]);
  expect(axisRange({ low: null, high: null }, { seconds, whole })).toEqual([at, at + 90]);
});

test('zooming into a single sample shows everything instead', () => {
  const whole = wholeRange([at], 'bars');
  expect(zoomAround(whole, 0.5, { centre: at, whole, least: leastZoom([at]) })).toBeNull();
  expect(leastZoom([at, at + 30, at + 60])).toBe(60);
});
