import { nanoUsd } from '@millrace/platform/money';
import { testIds } from '@millrace/testing';
import { describe, expect, it } from 'vitest';
import { monthAfter, monthOf } from '../../ledger/index.ts';
import {
  earningsByDay,
  earningsByMachine,
  earningsPeriod,
  toGpuSeconds,
  sumEarningTotals,
} from './earnings.ts';
import { buildStatement } from './statements.ts';

const at = (text: string): Date => new Date(text);

describe('monthOf and monthAfter', () => {
  it.each([
    ['2026-01-31T23:59:59.999Z', '2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z'],
    ['2026-02-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z'],
    ['2028-02-29T12:00:00.000Z', '2028-02-01T00:00:00.000Z', '2028-03-01T00:00:00.000Z'],
    ['2026-12-31T23:00:00.000Z', '2026-12-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
  ])('return the UTC month that contains %s', (instant, start, end) => {
    const month = monthOf(at(instant));
    expect([month.toISOString(), monthAfter(month).toISOString()]).toEqual([start, end]);
  });
});

describe('earningsPeriod', () => {
  const now = at('2026-03-10T12:00:00Z');

  it('defaults to the current month until now', () => {
    expect(earningsPeriod({ from: null, until: null }, now)).toEqual({
      from: at('2026-03-01T00:00:00Z'),
      until: now,
    });
  });

  it('starts with the month of until when from is missing', () => {
    const until = at('2026-02-10T00:00:00Z');
    expect(earningsPeriod({ from: null, until }, now)).toEqual({ from: at('2026-02-01T00:00:00Z'), until });
  });

  it('refuses an end before the start and periods longer than a year', () => {
    const from = at('2026-03-11T00:00:00Z');
    expect(earningsPeriod({ from, until: null }, now)).toBe('ends before it begins');
    expect(earningsPeriod({ from: at('2025-03-09T11:59:59Z'), until: null }, now)).toBe('too long');
    expect(earningsPeriod({ from: at('2025-03-09T12:00:00Z'), until: null }, now)).toMatchObject({
      until: now,
    });
  });
});

describe('toGpuSeconds', () => {
  it.each([
    [0n, 0],
    [999n, 0],
    [1_000n, 1],
    [7_200_001n, 7_200],
    [-1_999n, -1],
    [-2_000n, -2],
  ])('converts %s ms to %s s', (gpuMs, seconds) => {
    expect(toGpuSeconds(gpuMs)).toBe(seconds);
  });
});

describe('buildStatement', () => {
  const machine = (earned: bigint, fee: bigint) => ({
    machineId: testIds.next('nod'),
    gpuMs: 1_500n,
    gross: nanoUsd(earned + fee),
    fee: nanoUsd(fee),
    earned: nanoUsd(earned),
  });
  const period = { periodStart: at('2026-01-01T00:00:00Z'), periodEnd: at('2026-02-01T00:00:00Z') };

  it('sums its lines, also those with a negative total', () => {
    const machines = [machine(9n, 1n), machine(-4n, -1n)];
    const statement = buildStatement(testIds.next('stm'), period, machines);
    expect(statement).toMatchObject({ ...period, gross: 5n, fee: 0n, net: 5n });
    expect(statement.lines).toMatchObject([
      { gross: 10n, fee: 1n, gpuSeconds: 1 },
      { gross: -5n, fee: -1n },
    ]);
  });

  it('accepts no machines and throws if the sums do not add up', () => {
    expect(buildStatement(testIds.next('stm'), period, [])).toMatchObject({ gross: 0n, net: 0n, lines: [] });
    expect(sumEarningTotals([])).toEqual({ gross: 0n, fee: 0n, earned: 0n });
    const wrong = { ...machine(9n, 1n), gross: nanoUsd(11n) };
    expect(() => buildStatement(testIds.next('stm'), period, [wrong])).toThrow('does not add up');
  });
});

describe('earningsByMachine and earningsByDay', () => {
  const [first, second] = [testIds.next('nod'), testIds.next('nod')];
  const [monday, tuesday] = [at('2026-03-09T00:00:00Z'), at('2026-03-10T00:00:00Z')];
  const entry = (machineId: typeof first, day: Date, earned: bigint) => ({
    machineId,
    day,
    gpuMs: earned * 10n,
    gross: nanoUsd(earned + 1n),
    fee: nanoUsd(1n),
    earned: nanoUsd(earned),
  });
  const daily = [entry(first, monday, 5n), entry(first, tuesday, 7n), entry(second, monday, 3n)];

  it('have the same total', () => {
    expect(
      earningsByMachine(daily).map(({ machineId, earned, gross }) => [machineId, earned, gross]),
    ).toEqual([
      [first, 12n, 14n],
      [second, 3n, 4n],
    ]);
    expect(earningsByDay(daily)).toEqual([
      { day: monday, gpuMs: 80n, earned: 8n },
      { day: tuesday, gpuMs: 70n, earned: 7n },
    ]);
  });

  it('leave out a machine whose sum is zero and keep both days', () => {
    const back = { ...entry(first, tuesday, -5n), gross: nanoUsd(-6n), fee: nanoUsd(-1n) };
    const undone = [entry(first, monday, 5n), back];
    expect(earningsByMachine(undone)).toEqual([]);
    expect(earningsByDay(undone).map(({ earned }) => earned)).toEqual([5n, -5n]);
  });
});
