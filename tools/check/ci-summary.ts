import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import {
  countLog,
  countVitest,
  failedTests,
  filesWithUnhandledErrors,
  flakyNamesInLog,
  lastLines,
  passedOnRerun,
  readVitest,
  summarise,
  mergeRerun,
  type Count,
} from './src/summary.ts';

// Called by .ci/run with its results folder and the failed steps. STEP.log is the output of a step, STEP.json a report of vitest,
// STEP.again.json the report of its second run and
// STEP.first the log of its first. Prints the failed tests and the last line of CI.
const [folder, ...failedSteps] = process.argv.slice(2);
if (folder === undefined) throw new Error('usage: ci-summary.ts FOLDER [FAILED-STEP…]');

const read = (name: string): string => {
  const file = path.join(folder, name);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
};
const counts = new Map<string, Count>();
const failures: string[] = [];
const flaky: string[] = [];
for (const name of readdirSync(folder).toSorted()) {
  const { name: step, ext } = path.parse(name);
  if (ext !== '.log') continue;
  const log = read(name);
  const first = readVitest(read(`${step}.json`));
  const second = readVitest(read(`${step}.again.json`)) ?? [];
  const results = first === null ? null : mergeRerun(first, second);
  const count = results === null ? countLog(log) : countVitest(results);
  if (count !== null) counts.set(step, count);
  failures.push(...failedTests(results ?? [], process.cwd()));
  if (failedSteps.includes(step) && (count?.failed ?? 0) === 0)
    failures.push(`End of the log of ${step}:`, ...lastLines(log));
  flaky.push(...failedTests(passedOnRerun(first ?? [], second), process.cwd()), ...flakyNamesInLog(log));
  const firstLog = read(`${step}.first`);
  for (const file of filesWithUnhandledErrors(firstLog)) flaky.push(`${file} > (an error outside a test)`);
}
const { line, ok } = summarise(counts, failedSteps);
const lines = [...counts].map(([step, { passed, failed }]) => `${step}: ${passed} passed, ${failed} failed.`);
if (flaky.length > 0) lines.push('Failed at first, passed in a second run alone:', ...flaky);
if (failedSteps.length > 0) lines.push(`Failed steps: ${failedSteps.join(', ')}.`);
process.stdout.write(`${[...lines, ...failures, line].join('\n')}\n`);
process.exitCode = ok ? 0 : 1;
