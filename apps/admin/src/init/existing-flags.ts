import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import type { FlagDefaults } from '../command.ts';
import { hasErrorCode } from '../error-code.ts';

/** The flags of an installation that exists. It has an operator, or will have one after a restore. */
export async function existingFlags(folder: string): Promise<FlagDefaults> {
  // `init` writes this file last.
  const text = await readFile(join(folder, 'millrace.env'), 'utf8').catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) return null;
    throw error;
  });
  if (text === null) return {};
  const { MILLRACE_HTTP_PUBLIC_URL: publicUrl, MILLRACE_INSTALLATION_NAME: organisation } = parseEnv(text);
  return { 'public-url': publicUrl, organisation, name: null, email: null };
}
