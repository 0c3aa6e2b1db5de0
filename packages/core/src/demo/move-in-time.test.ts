import { SimulatedClock } from '@millrace/platform/clock';
import { createIdSource, timeOf, toUuid } from '@millrace/platform/ids';
import { describe, expect, it } from 'vitest';
import { moveDate, moveInTime } from './move-in-time.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describe('moveInTime', () => {
  it.each([
    ['2026-03-01 23:30:00+00', '2026-03-02 00:30:00+00'],
    ['2026-03-01 23:30:00.123456+00', '2026-03-02 00:30:00.123456+00'],
    ['2026-03-01 23:30:00.5+00', '2026-03-02 00:30:00.500+00'],
    ['{"at": "2026-03-01T23:30:00.123Z"}', '{"at": "2026-03-02T00:30:00.123Z"}'],
    ['{"at":"2026-03-01T23:30:00Z"}', '{"at":"2026-03-02T00:30:00Z"}'],
    ['{"createdAtMs": 1767225600000}', '{"createdAtMs": 1767229200000}'],
    [String.raw`"{\"onSinceMs\": 1767225600000}"`, String.raw`"{\"onSinceMs\": 1767229200000}"`],
  ])('moves %s by an hour', (text, moved) => {
    expect(moveInTime(text, HOUR_MS)).toBe(moved);
  });

  it('moves the time inside ids and their UUIDs alike', () => {
    const ids = createIdSource({ clock: new SimulatedClock(), cell: 3 });
    const id = ids.next('rnt');
    const [moved = '', uuid = ''] = moveInTime(`${id},${toUuid(id)}`, 60 * DAY_MS).split(',');
    expect(timeOf(moved as typeof id) - timeOf(id)).toBe(60 * DAY_MS);
    expect(toUuid(moved as typeof id)).toBe(uuid);
  });

  it.each([
    'a1b2c3d4-0000-4000-8000-000000000001',
    'ffffffff-ffff-7fff-bfff-ffffffffffff',
    '00000000-0000-7000-8000-000000000000',
    'price_1767225600000',
    '1767225600000',
    'xyz_01JGYZ8ZZ8E1RRSXQ0F6ZB5K3M',
    '2026-03-01',
    'NVIDIA H100 80GB HBM3',
  ])('leaves %s as it is', (text) => {
    expect(moveInTime(text, DAY_MS)).toBe(text);
  });
});

it('moveDate moves by the nearest number of whole days', () => {
  expect(moveDate('2026-02-27', 2 * DAY_MS + HOUR_MS)).toBe('2026-03-01');
});
