import { divideWithRemainder, floorDivide } from '@millrace/platform/money';

/** A statement about the installation, for the operator who decides. */
export interface Fact {
  readonly name: string;
  readonly text: string;
}

/** Something that prevents a restore, or makes it incomplete. */
export interface Problem {
  readonly id: string;
  readonly problem: string;
  readonly remedy: string;
}

export interface CheckResult {
  readonly facts: readonly Fact[];
  readonly problems: readonly Problem[];
}

export function formatResult({ facts, problems }: CheckResult): string {
  const width = Math.max(0, ...facts.map(({ name }) => name.length));
  const found = problems.map(
    ({ id, problem, remedy }) => `\n${problem}\n  Remedy: ${remedy}\n  Id:     ${id}\n`,
  );
  return [...facts.map(({ name, text }) => `${name.padEnd(width)}  ${text}\n`), ...found].join('');
}

export const elapsedText = (from: Date, until: Date): string => {
  const [hours, rest] = divideWithRemainder(Math.max(0, until.getTime() - from.getTime()), 3_600_000);
  return hours < 48
    ? `${hours} h ${floorDivide(rest, 60_000)} min ago`
    : `${floorDivide(hours, 24)} days ago`;
};
