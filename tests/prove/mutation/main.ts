import { dirname, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { repositoryRoot, testsBeside } from './files.ts';
import { tryMutants } from './run.ts';
import { describeScore, describeSurvivor, scoreProblem, scoreFiles } from './score.ts';

const help = `tools/run tests/prove/mutation/main.ts [--sample N] [--seed S] FILE…

Mutates these files and lists the mutants that the unit tests beside them do not detect.

  --sample N   tries only N mutants per file
  --seed S     seed of the sample (default 1)
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { sample: { type: 'string' }, seed: { type: 'string', default: '1' } },
});
const sample =
  values.sample === undefined ? null : { seed: Number(values.seed), mutantsPerFile: Number(values.sample) };
const files = positionals.map((file) => relative(repositoryRoot, resolve(file)));
const untested = files.filter((file) => testsBeside(dirname(file)).length === 0);
if (files.length === 0 || untested.length > 0) {
  process.stderr.write(untested.map((file) => `${file}: no unit tests beside it\n`).join('') || help);
  process.exit(2);
}
const scores = scoreFiles(files, await tryMutants(files, sample));
for (const score of scores) {
  for (const survivor of score.survivors) process.stdout.write(`${describeSurvivor(survivor)}\n`);
}
for (const score of scores) process.stdout.write(`${score.file}: ${describeScore(score)}\n`);
process.exit(
  scores.some((score) => scoreProblem(score, sample === null ? 'whole' : 'sample') !== null) ? 1 : 0,
);
