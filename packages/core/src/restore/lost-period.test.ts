import { expect, it } from 'vitest';
import { mayHaveLostRow } from './lost-period.ts';

const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1) + minute * 60_000);
const lost = { from: at(100), until: at(200) };
const seen = (minute: number, createdAt: Date | null) => ({ firstSeenAt: at(minute), createdAt });

it('a machine created between the restore point and the confirmation may have lost its row, whenever it is seen', () => {
  for (const minute of [100, 150, 200]) expect(mayHaveLostRow(lost, seen(5_000, at(minute)))).toBe(true);
  expect(mayHaveLostRow(lost, seen(5_000, at(80)))).toBe(false);
  expect(mayHaveLostRow(lost, seen(5_000, at(220)))).toBe(false);
});

it('a machine whose engine has a clock that is some minutes wrong may have lost its row', () => {
  for (const minute of [91, 209]) expect(mayHaveLostRow(lost, seen(5_000, at(minute)))).toBe(true);
});

it('a machine that was seen before the confirmation or has no creation time may have lost its row', () => {
  expect(mayHaveLostRow(lost, seen(199, at(0)))).toBe(true);
  expect(mayHaveLostRow(lost, seen(5_000, null))).toBe(true);
});

it('no row is lost without a confirmed restore, and every old one may be where the point is not known', () => {
  expect(mayHaveLostRow(null, seen(5_000, null))).toBe(false);
  expect(mayHaveLostRow({ from: null, until: at(200) }, seen(5_000, at(-9_000)))).toBe(true);
});
