import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { countLog, countVitest, summarise, type Count } from './src/summary.ts';

// Called by .ci/run with the folder of its results (STEP.json from vitest, STEP.log from all) and the names of
// the steps that failed. Prints the line that CI ends with.
const [folder, ...failedSteps] = process.argv.slice(2);
if (folder === undefined) throw new Error('usage: ci-summary.ts FOLDER [FAILED-STEP…]');

const counts = new Map<string, Count>();
for (const name of readdirSync(folder).toSorted()) {
  const { name: step, ext } = path.parse(name);
  if (ext !== '.json' && ext !== '.log') continue;
  const text = readFileSync(path.join(folder, name), 'utf8');
  const count = ext === '.json' ? countVitest(text) : countLog(text);
  // A .json sorts before the .log of the same step and is the better witness.
  if (count !== null && !counts.has(step)) counts.set(step, count);
}
const { line, ok } = summarise(counts, failedSteps);
const lines = [...counts].map(([step, { passed, failed }]) => `${step}: ${passed} passed, ${failed} failed.`);
if (failedSteps.length > 0) lines.push(`Failed steps: ${failedSteps.join(', ')}.`);
process.stdout.write(`${[...lines, line].join('\n')}\n`);
process.exitCode = ok ? 0 : 1;
