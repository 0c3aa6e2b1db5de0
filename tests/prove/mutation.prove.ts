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

// CI checks only that mutation testing works and that the tests of every file detect a mutant: one mutant per file, the same for
// one seed. The long form measures the quality of the tests. One mutant takes more than a second of one core.
const sampleSize = 20;
const leastOfEachFile = 1;

/** Tests without assertions kill at most the mutants that change the type of the result. */
const carelessShare = 0.4;

export const proof = defineProof({
  name: 'mutation',
  proves: `The unit tests beside each file that decides about money detect at least ${requiredShare * 100} % of its mutants.`,
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

/** Scores are meaningful only if careless tests get a low score and careful tests a high one. */
function instrumentFaults(careless: readonly FileScore[], careful: readonly FileScore[]): readonly string[] {
  return [
    ...careless
      .filter((score) => triedCount(score) === 0 || shareOf(score) > carelessShare)
      .map((score) => `careless tests got a high score: ${describeScore(score)}`),
    ...careful
      .filter((score) => shareOf(score) < requiredShare)
      .map((score) => `careful tests got a low score: ${describeScore(score)}`),
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
