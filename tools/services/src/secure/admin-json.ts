import { spawnSync } from 'node:child_process';
import path from 'node:path';

import { Failure } from '../failure.ts';
import { repositoryRoot } from '../site.ts';

/** Stands for the prefix of a test in the permissions, also in uppercase. */
export const prefixPlaceholder = 'prefixplaceholder';

/** The output of a command of millrace-admin. It runs separately, so that this tool does not load the product. */
export function readAdminJson(words: readonly string[]): unknown {
  const command = [path.join(repositoryRoot, 'apps/admin/src/main.ts'), ...words, '--json'];
  const env = { ...process.env, MILLRACE_NATS_PREFIX: prefixPlaceholder, MILLRACE_CELL: '1' };
  const finished = spawnSync(process.execPath, command, { encoding: 'utf8', env });
  if (finished.status !== 0) {
    throw new Failure(
      `millrace-admin ${words.join(' ')} failed: ${finished.stderr}`,
      'Run `npm ci` and try again.',
    );
  }
  return JSON.parse(finished.stdout);
}
