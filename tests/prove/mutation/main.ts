import { dirname, relative, resolve } from 'node:path';
import { repositoryRoot, testsBeside } from './files.ts';
import { tryMutants } from './run.ts';
import { describeScore, describeSurvivor, judge, scoreFiles } from './score.ts';

const help = `tools/run tests/prove/mutation/main.ts FILE…

Mutates these files and says which mutants the unit tests beside them do not notice.
`;

const files = process.argv.slice(2).map((file) => relative(repositoryRoot, resolve(file)));
const untested = files.filter((file) => testsBeside(dirname(file)).length === 0);
if (files.length === 0 || untested.length > 0) {
  process.stderr.write(untested.map((file) => `${file}: no unit tests beside it\n`).join('') || help);
  process.exit(2);
}
const scores = scoreFiles(files, await tryMutants(files));
for (const score of scores) {
  for (const survivor of score.survivors) process.stdout.write(`${describeSurvivor(survivor)}\n`);
}
for (const score of scores) process.stdout.write(`${score.file}: ${describeScore(score)}\n`);
process.exit(scores.some((score) => judge(score, 'whole') !== null) ? 1 : 0);
