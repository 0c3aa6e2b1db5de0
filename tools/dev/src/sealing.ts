import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const KEY_ID = 'dev';
const KEY_BYTES = 32;

/** The key that secrets are sealed with; made once, since what it sealed must open after the next start. */
export function sealingSettings(file: string): Readonly<Record<string, string>> {
  if (!existsSync(file)) writeFileSync(file, randomBytes(KEY_BYTES).toString('base64'), { mode: 0o600 });
  return {
    MILLRACE_SEALING_KEYS: `${KEY_ID}:${readFileSync(file, 'utf8')}`,
    MILLRACE_SEALING_KEY_ACTIVE: KEY_ID,
  };
}
