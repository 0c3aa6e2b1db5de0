/** How many tests of one run passed and failed. */
export interface Count {
  readonly passed: number;
  readonly failed: number;
}

interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

/**
 * Counts a report of vitest's json reporter. A file that broke before its first test is one failure. Null for
 * half a report, which a run that was ended in the middle leaves.
 */
export function countVitest(text: string): Count | null {
  const report = parse(text);
  if (report === null) return null;
  const broken = report.testResults.filter(
    (file) =>
      file.status === 'failed' && !file.assertionResults.some((assertion) => assertion.status === 'failed'),
  );
  return { passed: report.numPassedTests, failed: report.numFailedTests + broken.length };
}

function parse(text: string): VitestReport | null {
  try {
    return JSON.parse(text) as VitestReport;
  } catch {
    return null;
  }
}

/** Counts what a run says of itself in its last line `N passed, N failed`; null when it says nothing. */
export function countLog(text: string): Count | null {
  const found = [...text.matchAll(/^(\d+) passed, (\d+) failed$/gmu)].at(-1);
  return found === undefined ? null : { passed: Number(found[1]), failed: Number(found[2]) };
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
