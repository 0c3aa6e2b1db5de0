import fc from 'fast-check';
import { expect, test } from 'vitest';
import { indicesIn, keepZoom, panBy, zoomAround } from './zoom.ts';

const whole = { min: 0, max: 1_000 };
const at = (centre: number) => ({ centre, whole, least: 60 });

test('zooming in halves the range around the chosen moment', () => {
  expect(zoomAround(whole, 0.5, at(400))).toEqual({ min: 150, max: 650 });
});

test('a zoom near the end stays inside the data', () => {
  expect(zoomAround(whole, 0.5, at(990))).toEqual({ min: 500, max: 1_000 });
  expect(panBy({ min: 800, max: 900 }, 5, whole)).toEqual({ min: 900, max: 1_000 });
});

test('zooming out to the whole range ends the zoom', () => {
  expect(zoomAround({ min: 100, max: 700 }, 2, at(400))).toBeNull();
});

test('a zoomed range is never shorter than the least range and never leaves the data', () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(share, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (centre, factor) => {
      const range = zoomAround(whole, factor, at(centre * 1_000));
      if (range === null) return;
      expect(range.min).toBeGreaterThanOrEqual(0);
      expect(range.max).toBeLessThanOrEqual(1_000.000_001);
      expect(range.max - range.min).toBeGreaterThanOrEqual(59.999);
    }),
  );
});

test('a zoom survives new data unless its start has left the data', () => {
  expect(keepZoom({ min: 100, max: 200 }, whole)).toEqual({ min: 100, max: 200 });
  expect(keepZoom({ min: 100, max: 200 }, { min: 150, max: 1_150 })).toBeNull();
});

test('indicesIn finds the samples inside a range', () => {
  expect(indicesIn([0, 10, 20, 30], { min: 5, max: 25 })).toEqual([1, 2]);
});
