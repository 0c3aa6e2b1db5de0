import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { exitCodes, runAdmin } from './app.ts';
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

describe('millrace-admin backup', () => {
  it('refuses an existing folder that other users can open, and does not change its mode', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-backup-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    chmodSync(folder, 0o750);
    const { code, err } = await backUpInto(folder);
    expect(code).toBe(exitCodes.refused);
    expect(err).toContain(`Other users can open the folder ${folder} (mode 750)`);
    expect(statSync(folder).mode & 0o777).toBe(0o750);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('creates a missing folder that only its user can open', async () => {
    const parent = mkdtempSync(join(tmpdir(), 'millrace-backup-'));
    onTestFinished(() => rmSync(parent, { recursive: true }));
    const folder = join(parent, 'new');
    await backUpInto(folder);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });
});

/** No server listens at this address. */
async function backUpInto(folder: string) {
  const url = 'postgres://millrace@127.0.0.1:1/millrace';
  const env = { MILLRACE_POSTGRES_URL: url, MILLRACE_BACKUP_FOLDER: folder };
  let err = '';
  const io = { out: () => undefined, err: (text: string) => void (err += text) };
  return { code: await runAdmin(['backup'], io, env), err };
}
