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

export function joinResults(results: readonly CheckResult[]): CheckResult {
  return {
    facts: results.flatMap(({ facts }) => facts),
    problems: results.flatMap(({ problems }) => problems),
  };
}

export function formatResult({ facts, problems }: CheckResult): string {
  const width = Math.max(0, ...facts.map(({ name }) => name.length));
  const found = problems.map(
    ({ id, problem, remedy }) => `\n${problem}\n  Remedy: ${remedy}\n  Id:     ${id}\n`,
  );
  return [...facts.map(({ name, text }) => `${name.padEnd(width)}  ${text}\n`), ...found].join('');
}

export const elapsedText = (from: Date, until: Date): string => {
  const minutes = Math.trunc((until.getTime() - from.getTime()) / 60_000);
  const hours = Math.trunc(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min ago` : `${Math.trunc(hours / 24)} days ago`;
};
