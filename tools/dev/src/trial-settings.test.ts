import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readTrialSettings, saveTrialSettings } from './trial-settings.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'trial-settings-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('readTrialSettings returns null until the settings are saved', () => {
  const file = join(folder, 'settings.json');
  expect(readTrialSettings(file)).toBeNull();
  saveTrialSettings(file, { MILLRACE_DEMO: 'true' });
  expect(readTrialSettings(file)).toEqual({ MILLRACE_DEMO: 'true' });
});

test('readTrialSettings returns null for settings of another release', () => {
  const file = join(folder, 'other.json');
  saveTrialSettings(file, { MILLRACE_DEMO: 'true' }, '0.0.1 b1946ac');
  expect(readTrialSettings(file)).toBeNull();
  expect(readTrialSettings(file, '0.0.1 b1946ac')).toEqual({ MILLRACE_DEMO: 'true' });
});

test('saveTrialSettings writes a file that only its owner can read', () => {
  const file = join(folder, 'private.json');
  saveTrialSettings(file, {});
  expect(statSync(file).mode & 0o777).toBe(0o600);
});
