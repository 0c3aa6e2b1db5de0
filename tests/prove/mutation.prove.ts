import { defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { decisionFiles, fixtures } from './mutation/files.ts';
import { tryMutants } from './mutation/run.ts';
import {
  describeScore,
  describeSurvivor,
  scoreProblem,
  detectedCount,
  requiredShare,
  scoreFiles,
  shareOf,
  triedCount,
  type FileScore,
} from './mutation/score.ts';

// CI asks whether the instrument works and every file still has tests that notice something: one mutant of each, always the same
// ones for one seed. How good the tests are is for the long form. Trying one takes more than a second of one core.
const sampleSize = 20;
const leastOfEachFile = 1;

/** Tests that ask nothing kill at most the mutants that change the type of the result. */
const carelessShare = 0.4;

/** Tests that nothing tests: the code is changed in small ways, and each time a test beside it has to fail. */
export const proof = defineProof({
  name: 'mutation',
  proves: `Of the small changes that can be made to a file which decides about money, the unit tests beside it notice at least ${requiredShare * 100} %.`,
  short: (run) => prove(run, 'sample'),
  long: (run) => prove(run, 'whole'),
});

async function prove(run: ProofRun, form: 'whole' | 'sample'): Promise<ProofReport> {
  const mutantsPerFile = Math.max(leastOfEachFile, Math.ceil(sampleSize / decisionFiles.length));
  const sample = form === 'sample' ? { seed: run.seed, mutantsPerFile } : null;
  const control = await tryMutants(Object.values(fixtures));
  const mutants = await tryMutants(decisionFiles, sample);
  const scores = scoreFiles(decisionFiles, mutants);
  for (const score of scores) {
    for (const survivor of score.survivors) run.note(`survived: ${describeSurvivor(survivor)}`);
  }
  const all = total(scores);
  return {
    figures: {
      'all files': describeScore(all),
      ...Object.fromEntries(scores.map((score) => [score.file, describeScore(score)])),
    },
    failures: [
      ...instrumentFaults(scoreFiles([fixtures.careless], control), scoreFiles([fixtures.careful], control)),
      ...[...scores, all].flatMap((score) => scoreProblem(score, form) ?? []),
    ],
  };
}

/** A score means something only where careless tests get a low one and careful tests a high one. */
function instrumentFaults(careless: readonly FileScore[], careful: readonly FileScore[]): readonly string[] {
  return [
    ...careless
      .filter((score) => triedCount(score) === 0 || shareOf(score) > carelessShare)
      .map((score) => `careless tests were not found out: ${describeScore(score)}`),
    ...careful
      .filter((score) => shareOf(score) < requiredShare)
      .map((score) => `careful tests were not recognised: ${describeScore(score)}`),
  ];
}

function total(scores: readonly FileScore[]): FileScore {
  const sum = (count: (score: FileScore) => number): number =>
    scores.reduce((so, score) => so + count(score), 0);
  return {
    file: 'all files',
    killed: sum(({ killed }) => killed),
    timedOut: sum(detectedCount) - sum(({ killed }) => killed),
    survivors: scores.flatMap(({ survivors }) => survivors),
    broken: sum(({ broken }) => broken),
  };
}
