import { createHmac, randomBytes } from 'node:crypto';
import type { SealingKey } from '@millrace/platform/secrets';
import { ensureSecret } from './secret-file.ts';

const KEY_ID = 'dev';
const KEY_BYTES = 32;

/** Created once, so that sealed secrets stay readable and sessions valid after the next start. */
function readOrCreateKey(file: string): string {
  return ensureSecret(file, () => randomBytes(KEY_BYTES).toString('base64'));
}

export function sealingKeyOf(file: string): SealingKey {
  return { id: KEY_ID, key: Buffer.from(readOrCreateKey(file), 'base64') };
}

export function sealingSettings(file: string): Readonly<Record<string, string>> {
  const key = readOrCreateKey(file);
  return {
    MILLRACE_AUTH_SECRET: createHmac('sha256', key).update('sign-in').digest('base64'),
    MILLRACE_SEALING_KEYS: `${KEY_ID}:${key}`,
    MILLRACE_SEALING_KEY_ACTIVE: KEY_ID,
    MILLRACE_KEY_FEED_KEYS: `${KEY_ID}:${createHmac('sha256', key).update('key feed').digest('base64')}`,
  };
}
