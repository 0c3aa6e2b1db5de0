import { expect, it } from 'vitest';
import { mayHaveLostRow } from './lost-period.ts';

const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1) + minute * 60_000);
const lost = { from: at(100), until: at(200) };
const seen = (minute: number, createdAt: Date | null) => ({ firstSeenAt: at(minute), createdAt });

it('mayHaveLostRow is true for a machine created between restore point and confirmation, whenever it is observed', () => {
  for (const minute of [100, 150, 200]) expect(mayHaveLostRow(lost, seen(5_000, at(minute)))).toBe(true);
  expect(mayHaveLostRow(lost, seen(5_000, at(80)))).toBe(false);
  expect(mayHaveLostRow(lost, seen(5_000, at(220)))).toBe(false);
});

it('mayHaveLostRow tolerates an engine clock that is some minutes off', () => {
  for (const minute of [91, 209]) expect(mayHaveLostRow(lost, seen(5_000, at(minute)))).toBe(true);
});

it('mayHaveLostRow is true for a machine that was observed before the confirmation or has no creation time', () => {
  expect(mayHaveLostRow(lost, seen(199, at(0)))).toBe(true);
  expect(mayHaveLostRow(lost, seen(5_000, null))).toBe(true);
});

it('mayHaveLostRow is false without a confirmed restore, and true for old machines if the restore point is unknown', () => {
  expect(mayHaveLostRow(null, seen(5_000, null))).toBe(false);
  expect(mayHaveLostRow({ from: null, until: at(200) }, seen(5_000, at(-9_000)))).toBe(true);
});
