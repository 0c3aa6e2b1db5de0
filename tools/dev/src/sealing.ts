import { createHmac, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const KEY_ID = 'dev';
const KEY_BYTES = 32;

/** Created once, so that sealed secrets stay readable and sessions valid after the next start. */
export function sealingSettings(file: string): Readonly<Record<string, string>> {
  if (!existsSync(file)) writeFileSync(file, randomBytes(KEY_BYTES).toString('base64'), { mode: 0o600 });
  const key = readFileSync(file, 'utf8');
  return {
    MILLRACE_AUTH_SECRET: createHmac('sha256', key).update('sign-in').digest('base64'),
    MILLRACE_SEALING_KEYS: `${KEY_ID}:${key}`,
    MILLRACE_SEALING_KEY_ACTIVE: KEY_ID,
  };
}
