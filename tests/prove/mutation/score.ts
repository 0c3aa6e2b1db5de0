import type { MutantResult } from '@stryker-mutator/api/core';

/** The share of mutants that the tests beside a file must kill. */
export const requiredShare = 0.8;

// A sample fails a file only if a file with the required share would score so low in one of 200 draws.
const failBelow = 0.005;

export type TriedMutant = Pick<
  MutantResult,
  'fileName' | 'location' | 'mutatorName' | 'replacement' | 'status' | 'statusReason'
>;

export interface FileScore {
  readonly file: string;
  readonly killed: number;
  /** The tests did not end. Also detected, but counted separately, because a busy machine can cause a timeout. */
  readonly timedOut: number;
  /** Mutants that no test detected, whether or not a test runs their line. */
  readonly survivors: readonly TriedMutant[];
  /** Mutants with which the module cannot be loaded. They are not counted. */
  readonly broken: number;
}

export function scoreFiles(files: readonly string[], mutants: readonly TriedMutant[]): readonly FileScore[] {
  const byFile = Map.groupBy(mutants, ({ fileName }) => fileName);
  return files.map((file) => {
    const all = byFile.get(file) ?? [];
    const count = (status: TriedMutant['status']): number =>
      all.filter((mutant) => mutant.status === status).length;
    return {
      file,
      killed: count('Killed'),
      timedOut: count('Timeout'),
      survivors: all.filter(({ status }) => status === 'Survived' || status === 'NoCoverage'),
      broken: count('RuntimeError'),
    };
  });
}

export const detectedCount = ({ killed, timedOut }: FileScore): number => killed + timedOut;
export const triedCount = (score: FileScore): number => detectedCount(score) + score.survivors.length;

/** A file without mutants has the share 0, so that a wrong path in the list does not pass. */
export const shareOf = (score: FileScore): number =>
  triedCount(score) === 0 ? 0 : detectedCount(score) / triedCount(score);

export function scoreProblem(score: FileScore, form: 'whole' | 'sample'): string | null {
  if (triedCount(score) === 0) return `${score.file}: nothing to mutate; remove the file from the list`;
  const share = shareOf(score);
  const doubtful =
    form === 'whole'
      ? share < requiredShare
      : chanceOfAtMost(detectedCount(score), triedCount(score), requiredShare) < failBelow;
  if (!doubtful) return null;
  return `${score.file}: the tests beside it kill ${percent(share)} of its mutants, not ${percent(requiredShare)}`;
}

/** Probability that at most `most` of `count` independent events happen, each with `probability`. */
export function chanceOfAtMost(most: number, count: number, probability: number): number {
  let term = (1 - probability) ** count;
  let sum = term;
  for (let happened = 1; happened <= most; happened += 1) {
    term *= ((count - happened + 1) / happened) * (probability / (1 - probability));
    sum += term;
  }
  return sum;
}

export function describeScore(score: FileScore): string {
  const { killed, timedOut, survivors, broken } = score;
  const uncovered = survivors.filter(({ status }) => status === 'NoCoverage').length;
  const counts = [
    `${killed} killed`,
    `${timedOut} timed out`,
    `${survivors.length - uncovered} survived`,
    `${uncovered} not covered`,
    ...(broken > 0 ? [`${broken} could not be loaded`] : []),
  ];
  return `${percent(shareOf(score))} of ${triedCount(score)} (${counts.join(', ')})`;
}

/** Position and replacement on one line: enough to write the missing test. */
export function describeSurvivor({
  fileName,
  location,
  mutatorName,
  replacement,
  status,
}: TriedMutant): string {
  const change = (replacement ?? '').replaceAll(/\s+/g, ' ');
  const short = change.length > 100 ? `${change.slice(0, 99)}…` : change;
  const why = status === 'NoCoverage' ? ', and no test runs it' : '';
  return `${fileName}:${location.start.line}:${location.start.column} ${mutatorName} becomes ${short}${why}`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
