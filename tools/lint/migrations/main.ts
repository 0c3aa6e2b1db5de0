import { globSync } from 'node:fs';
import { join } from 'node:path';
import { checkMigrations, formatFinding, newerMigrations } from '../src/migrations/check-migrations.ts';
import { readPreviousCode, readPreviousRelease } from '../src/migrations/previous-release.ts';

// Checks the migrations that are newer than the previous release: its processes must be able to run on their schema.
const root = join(import.meta.dirname, '../../..');
const release = readPreviousRelease(root);
const code = readPreviousCode(root, release);
const all = globSync('db/migrations/*.sql', { cwd: root }).toSorted();
const files = newerMigrations(all, code);
const findings = checkMigrations({ root, files, release, code });
for (const finding of findings) console.error(formatFinding(finding));
if (findings.length > 0) {
  console.error('\nCONTRIBUTING.md, "Migrations", explains how to change a schema in two releases.');
  process.exitCode = 1;
} else console.log(`${files.length} migrations are newer than ${release.version}.`);
