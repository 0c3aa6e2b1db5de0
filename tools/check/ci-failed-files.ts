import { readFileSync } from 'node:fs';

import { failedFiles, readVitest } from './src/summary.ts';

// Called by .ci/run with a report of vitest. Prints the failed test files, one per line, for a second run, but none if there are
// more than a slow machine explains.
const MAX_FILES = 20;

const [report] = process.argv.slice(2);
if (report === undefined) throw new Error('usage: ci-failed-files.ts REPORT');
const files = failedFiles(readVitest(readFileSync(report, 'utf8')) ?? [], process.cwd());
if (files.length <= MAX_FILES) process.stdout.write(files.map((file) => `${file}\n`).join(''));
