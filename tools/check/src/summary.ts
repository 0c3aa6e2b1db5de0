import path from 'node:path';

/** How many tests of one run passed and failed. */
export interface Count {
  readonly passed: number;
  readonly failed: number;
}

interface FileResult {
  readonly name: string;
  readonly status: string;
  readonly message?: string;
  readonly assertionResults: readonly {
    readonly status: string;
    readonly fullName: string;
    readonly failureMessages: readonly string[];
  }[];
}

/** What vitest's json reporter says about each file. */
export type VitestResults = readonly FileResult[];

const isFailed = ({ status }: { readonly status: string }): boolean => status === 'failed';

/** Reads a report of vitest's json reporter. Returns null for half a report, as an interrupted run leaves. */
export function readVitest(text: string): VitestResults | null {
  try {
    return (JSON.parse(text) as { readonly testResults: VitestResults }).testResults;
  } catch {
    return null;
  }
}

/** Counts the tests of a report. A file that broke before its first test is one failure. */
export function countVitest(files: VitestResults): Count {
  const tests = files.flatMap((file) => file.assertionResults);
  const broken = files.filter((file) => isFailed(file) && !file.assertionResults.some(isFailed));
  return {
    passed: tests.filter(({ status }) => status === 'passed').length,
    failed: tests.filter(isFailed).length + broken.length,
  };
}

/** The files of a report that failed, by their paths from the folder. */
export function failedFiles(files: VitestResults, folder: string): readonly string[] {
  return files.filter(isFailed).map(({ name }) => path.relative(folder, name));
}

/** The results of a run of which some files were run again: of these files, the second result counts. */
export function mergeRerun(first: VitestResults, second: VitestResults): VitestResults {
  const again = new Set(second.map(({ name }) => name));
  return [...first.filter(({ name }) => !again.has(name)), ...second];
}

/** The first results of files that passed only when they were run again. */
export function passedOnRerun(first: VitestResults, second: VitestResults): VitestResults {
  const passed = new Set(second.filter((file) => !isFailed(file)).map(({ name }) => name));
  return first.filter(({ name }) => passed.has(name));
}

const MESSAGE_CHARACTERS = 300;

/**
 * One line for each failed test of a report: its file, its title, and how its message begins. The last lines of a run
 * are often all that is kept of it.
 */
export function failedTests(files: VitestResults, folder: string): readonly string[] {
  return files.filter(isFailed).flatMap((file) => {
    const failed = file.assertionResults.filter(isFailed);
    const tests = failed.map(({ fullName, failureMessages }) => [fullName, failureMessages[0]] as const);
    return (tests.length > 0 ? tests : [['(the file)', file.message] as const]).map(
      ([title, message = '']) =>
        `${path.relative(folder, file.name)} > ${title}: ${message.slice(0, MESSAGE_CHARACTERS).replaceAll('\n', ' ')}`,
    );
  });
}

/** Counts what a run says of itself in its last line `N passed, N failed`; null when it says nothing. */
export function countLog(text: string): Count | null {
  const found = [...text.matchAll(/^(\d+) passed, (\d+) failed$/gmu)].at(-1);
  return found === undefined ? null : { passed: Number(found[1]), failed: Number(found[2]) };
}

const PASSED_AGAIN = 'passed only when run again: ';

/** The proofs, benches and simulations that passed only when they were run again, as a log names them. */
export function flakyNamesInLog(text: string): readonly string[] {
  const lines = text.split('\n').filter((line) => line.startsWith(PASSED_AGAIN));
  return lines.flatMap((line) => line.slice(PASSED_AGAIN.length).split(', '));
}

/** The sum over all runs. A step that failed without a failure of its own to count, counts as one. */
export function summarise(
  counts: ReadonlyMap<string, Count>,
  failedSteps: readonly string[],
): { readonly line: string; readonly ok: boolean } {
  const all = [...counts.values()];
  const uncounted = failedSteps.filter((step) => (counts.get(step)?.failed ?? 0) === 0);
  const passed = all.reduce((sum, count) => sum + count.passed, 0);
  const failed = all.reduce((sum, count) => sum + count.failed, 0) + uncounted.length;
  return { line: `${passed} passed, ${failed} failed`, ok: failed === 0 };
}
