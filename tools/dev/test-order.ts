import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Vitest begins with the largest files where it remembers no times, as on a fresh checkout. But the files that take longest
// are small: what they hold the engines to stands elsewhere, and they mostly wait. All at once they would leave the
// processor idle, and at the end they would run alone.
const usesEngines =
  /conformance|\/tests\/(?:e2e|console)\/|ironic|incus|processes\.int|faulty-daemon|tools\/services/;

/** How many other files are begun between two that wait. */
const OTHER_FILES_BETWEEN = 2;

/** Spreads the files that wait for engines among those that use the processor, from the first on and none at the end. */
export class InterleavedSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const waiting = sorted.filter(({ moduleId }) => usesEngines.test(moduleId));
    const others = sorted.filter(({ moduleId }) => !usesEngines.test(moduleId));
    // The suite that every driver must pass is the longest of all.
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
