import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Without stored durations, as on a fresh checkout, Vitest starts with the largest files. The slowest files are small and mostly
// wait for engines: together they would leave the processor idle, and at the end they would run alone.
const usesEngines =
  /conformance|\/tests\/(?:e2e|console)\/|ironic|incus|processes\.int|faulty-daemon|tools\/services/;

/** Files that take minutes. They start first, because one that starts last runs alone at the end. */
const slowest = /\.conformance\.|\/doctor\/doctor\.int|\/wrong-clocks\.int|\/readme\.int/;

/** Files to start between two that wait. */
const OTHER_FILES_BETWEEN = 2;

/** Spreads files that wait for engines among those that use the processor, and puts none at the end. */
export class InterleavedSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isWaiting = ({ moduleId }: TestSpecification): boolean =>
      usesEngines.test(moduleId) || slowest.test(moduleId);
    const waiting = sorted.filter(isWaiting);
    const others = sorted.filter((file) => !isWaiting(file));
    const rank = ({ moduleId }: TestSpecification): number => (slowest.test(moduleId) ? 0 : 1);
    const inTurn = waiting
      .toSorted((left, right) => rank(left) - rank(right))
      .flatMap((file, nth) => [
        file,
        ...others.slice(nth * OTHER_FILES_BETWEEN, (nth + 1) * OTHER_FILES_BETWEEN),
      ]);
    return [...inTurn, ...others.slice(waiting.length * OTHER_FILES_BETWEEN)];
  }
}
