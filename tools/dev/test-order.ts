import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Without stored durations, as on a fresh checkout, Vitest starts with the largest files. The slowest files are small and mostly
// wait for engines: together they would leave the processor idle, and at the end they would run alone.
const usesEngines =
  /conformance|\/tests\/(?:e2e|console)\/|ironic|incus|processes\.int|faulty-daemon|tools\/services/;

/** Files to start between two that wait. */
const OTHER_FILES_BETWEEN = 2;

/** Spreads files that wait for engines among those that use the processor, and puts none at the end. */
export class InterleavedSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const waiting = sorted.filter(({ moduleId }) => usesEngines.test(moduleId));
    const others = sorted.filter(({ moduleId }) => !usesEngines.test(moduleId));
    // The conformance suite takes longest.
    const longest = (file: TestSpecification): number => (file.moduleId.includes('.conformance.') ? 0 : 1);
    const inTurn = waiting
      .toSorted((left, right) => longest(left) - longest(right))
      .flatMap((file, nth) => [
        file,
        ...others.slice(nth * OTHER_FILES_BETWEEN, (nth + 1) * OTHER_FILES_BETWEEN),
      ]);
    return [...inTurn, ...others.slice(waiting.length * OTHER_FILES_BETWEEN)];
  }
}
