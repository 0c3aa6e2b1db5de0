import { readFileSync } from 'node:fs';

import { failedFiles, filesWithUnhandledErrors, readVitest } from './src/summary.ts';

// Called by .ci/run with a report and the log of vitest. Prints the failed test files, one per line, for a second run, but none if
// there are more than a slow machine explains.
const MAX_FILES = 20;

const [report, log] = process.argv.slice(2);
if (report === undefined || log === undefined) throw new Error('usage: ci-failed-files.ts REPORT LOG');
const files = new Set([
  ...failedFiles(readVitest(readFileSync(report, 'utf8')) ?? [], process.cwd()),
  ...filesWithUnhandledErrors(readFileSync(log, 'utf8')),
]);
if (files.size <= MAX_FILES) process.stdout.write([...files].map((file) => `${file}\n`).join(''));
