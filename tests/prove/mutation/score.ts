import type { MutantResult } from '@stryker-mutator/api/core';

/** The share of mutants that the tests beside a file must kill. */
export const requiredShare = 0.8;

// A sample may be unlucky. It condemns a file only when one that deserves the bar would do so badly once in 200 draws.
const failBelow = 0.005;

export type TriedMutant = Pick<
  MutantResult,
  'fileName' | 'location' | 'mutatorName' | 'replacement' | 'status' | 'statusReason'
>;

export interface FileScore {
  readonly file: string;
  readonly killed: number;
  /** The tests no longer ended: noticed too, but counted apart, since a machine under load can cause one. */
  readonly timedOut: number;
  /** Mutants that no test noticed, though some ran their line, and mutants whose line no test runs. */
  readonly survivors: readonly TriedMutant[];
  /** Mutants with which the module cannot even be loaded. They say nothing about the tests and do not count. */
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

/** A file without a single mutant scores nothing: a list that names the wrong file must not pass. */
export const shareOf = (score: FileScore): number =>
  triedCount(score) === 0 ? 0 : detectedCount(score) / triedCount(score);

/** Null when the score is good enough; otherwise why it is not. */
export function scoreProblem(score: FileScore, form: 'whole' | 'sample'): string | null {
  if (triedCount(score) === 0)
    return `${score.file}: there was nothing to mutate, so it does not belong in the list`;
  const share = shareOf(score);
  const doubtful =
    form === 'whole'
      ? share < requiredShare
      : chanceOfAtMost(detectedCount(score), triedCount(score), requiredShare) < failBelow;
  if (!doubtful) return null;
  return `${score.file}: the tests beside it kill ${percent(share)} of its mutants, not ${percent(requiredShare)}`;
}

/** How likely it is that of `count` independent events, each as likely as `probability`, at most `most` happen. */
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

/** Where a survivor is and what it does, on one line: enough to write the test that is missing. */
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
