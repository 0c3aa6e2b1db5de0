import { describe, expect, it } from 'vitest';
import { expiredBackups } from './backup.ts';

const dump = (day: number, time = '000000'): string =>
  `millrace-2026-07-${String(day).padStart(2, '0')}T${time}Z.dump`;

describe('expiredBackups', () => {
  const daily = Array.from({ length: 16 }, (_, index) => dump(index + 1));

  it('retains one backup of each of the last 14 days', () => {
    expect(expiredBackups([...daily].toReversed())).toEqual([dump(1), dump(2)]);
  });

  it('retains two weeks and the newest three backups after many runs in one day', () => {
    const today = Array.from({ length: 20 }, (_, hour) => dump(17, `${hour + 10}0000`));
    const expired = expiredBackups([...daily, ...today]);
    expect(expired).toEqual([dump(1), dump(2), dump(3), ...today.slice(0, 17)]);
  });

  it('retains the newest backup of an earlier day', () => {
    const yesterday = ['010000', '020000', '030000'].map((time) => dump(16, time));
    const today = ['010000', '020000', '030000'].map((time) => dump(17, time));
    expect(expiredBackups([...yesterday, ...today])).toEqual(yesterday.slice(0, 2));
  });

  it('counts only days with a backup, and ignores other files', () => {
    const old = ['millrace-2024-01-01T000000Z.dump', 'millrace-2025-01-01T000000Z.dump'];
    expect(expiredBackups([...old, ...daily.slice(0, 12), 'notes.txt', `${dump(1)}.partial`])).toEqual([]);
  });
});
