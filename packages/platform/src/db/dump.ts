import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const maxDumpBytes = 32 * 1_048_576;

const header = `-- The schema after all migrations, for reading and for review. Generated; do not edit.
-- Regenerate with: npm run schema
`;

/** Removes everything that depends on the date or the machine: versions, session settings, owners, restrict tokens. */
export function normaliseDump(dump: string): string {
  const lines = dump
    .replaceAll('\r\n', '\n')
    .split('\n')
    .filter(
      (line) =>
        !/^(--|SET |SELECT pg_catalog\.set_config|\\(un)?restrict |(CREATE|COMMENT ON) SCHEMA public)/.test(
          line,
        ),
    )
    .join('\n')
    .replaceAll(/ALTER DEFAULT PRIVILEGES FOR ROLE \S+ /g, 'ALTER DEFAULT PRIVILEGES ')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
  return `${header}\n${lines}\n`;
}

/** The normalised schema of a database. The major version of the program `pgDump` must be the server's. */
export async function dumpSchema(url: string, pgDump = 'pg_dump'): Promise<string> {
  const { stdout } = await run(pgDump, ['--schema-only', '--no-owner', '--schema=public', url], {
    maxBuffer: maxDumpBytes,
  });
  return normaliseDump(stdout);
}
