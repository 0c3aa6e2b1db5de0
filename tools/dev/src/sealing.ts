import { createHmac, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const KEY_ID = 'dev';
const KEY_BYTES = 32;

/**
 * The key that secrets are sealed with, and from it the one that signs the cookies of people; made once, since what was
 * sealed must open after the next start, and whoever is signed in stays so.
 */
export function sealingSettings(file: string): Readonly<Record<string, string>> {
  if (!existsSync(file)) writeFileSync(file, randomBytes(KEY_BYTES).toString('base64'), { mode: 0o600 });
  const key = readFileSync(file, 'utf8');
  return {
    MILLRACE_AUTH_SECRET: createHmac('sha256', key).update('sign-in').digest('base64'),
    MILLRACE_SEALING_KEYS: `${KEY_ID}:${key}`,
    MILLRACE_SEALING_KEY_ACTIVE: KEY_ID,
  };
}
