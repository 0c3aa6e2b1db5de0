import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';

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

export type VitestResults = readonly FileResult[];

const isFailed = ({ status }: { readonly status: string }): boolean => status === 'failed';

/** Parses a report of vitest's json reporter. Returns null for an incomplete one, which an interrupted run leaves. */
export function readVitest(text: string): VitestResults | null {
  try {
    return (JSON.parse(text) as { readonly testResults: VitestResults }).testResults;
  } catch {
    return null;
  }
}

/** A file that failed before its first test counts as one failure. */
export function countVitest(files: VitestResults): Count {
  const tests = files.flatMap((file) => file.assertionResults);
  const broken = files.filter((file) => isFailed(file) && !file.assertionResults.some(isFailed));
  return {
    passed: tests.filter(({ status }) => status === 'passed').length,
    failed: tests.filter(isFailed).length + broken.length,
  };
}

/** Paths of failed files, relative to the folder. */
export function failedFiles(files: VitestResults, folder: string): readonly string[] {
  return files.filter(isFailed).map(({ name }) => path.relative(folder, name));
}

/** Results of a run whose failed files were run again; for these files the second result counts. */
export function mergeRerun(first: VitestResults, second: VitestResults): VitestResults {
  const again = new Set(second.map(({ name }) => name));
  return [...first.filter(({ name }) => !again.has(name)), ...second];
}

/** First results of files that passed only in the second run. */
export function passedOnRerun(first: VitestResults, second: VitestResults): VitestResults {
  const passed = new Set(second.filter((file) => !isFailed(file)).map(({ name }) => name));
  return first.filter(({ name }) => passed.has(name));
}

const MESSAGE_CHARACTERS = 300;

/** One line per failed test: file, title and start of its message, because often only the last lines of a run are kept. */
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

const LAST_LINES = 60;

/**
 * The last lines of a failed step's log. Without a failed test they are the only reason in the summary: vitest reports errors that
 * belong to no test at its end, and not in its json report.
 */
export function lastLines(log: string): readonly string[] {
  return stripVTControlCharacters(log).trimEnd().split('\n').slice(-LAST_LINES);
}

/** Files during which an error outside a test happened. Vitest names them only in its log. */
export function filesWithUnhandledErrors(log: string): readonly string[] {
  const found = stripVTControlCharacters(log).matchAll(/^This error originated in "([^"\n]+)" test file/gmu);
  return [...new Set([...found].map(([, file = '']) => file))];
}

/** Counts of the last line `N passed, N failed`, or null without such a line. */
export function countLog(text: string): Count | null {
  const found = [...text.matchAll(/^(\d+) passed, (\d+) failed$/gmu)].at(-1);
  return found === undefined ? null : { passed: Number(found[1]), failed: Number(found[2]) };
}

const PASSED_AGAIN = 'passed only when run again: ';

/** Proofs, benches and simulations that passed only in a second run, from a log. */
export function flakyNamesInLog(text: string): readonly string[] {
  const lines = text.split('\n').filter((line) => line.startsWith(PASSED_AGAIN));
  return lines.flatMap((line) => line.slice(PASSED_AGAIN.length).split(', '));
}

/** Adds all runs. A failed step without failed tests counts as one failure. */
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
