import { expect, test } from 'vitest';

import { countLog, countVitest, summarise } from './summary.ts';

function report(passed: number, failed: number, files: { status: string; tests: string[] }[]): string {
  return JSON.stringify({
    numPassedTests: passed,
    numFailedTests: failed,
    testResults: files.map((file) => ({
      status: file.status,
      assertionResults: file.tests.map((status) => ({ status })),
    })),
  });
}

test('tests of a vitest report are counted', () => {
  const text = report(2, 1, [{ status: 'failed', tests: ['passed', 'passed', 'failed'] }]);
  expect(countVitest(text)).toEqual({ passed: 2, failed: 1 });
});

test('a test file that cannot even be loaded is a failure', () => {
  const text = report(1, 0, [
    { status: 'passed', tests: ['passed'] },
    { status: 'failed', tests: [] },
  ]);
  expect(countVitest(text)).toEqual({ passed: 1, failed: 1 });
});

test('half a report is no report', () => {
  expect(countVitest('{"numPassedTests": 3')).toBeNull();
});

test('a run that closes with its own count is taken at its last word', () => {
  expect(countLog('1 passed, 0 failed\nmore\n12 passed, 3 failed\n')).toEqual({ passed: 12, failed: 3 });
  expect(countLog('it had 1 passed, 0 failed in the middle')).toBeNull();
});

test('everything is summed into one line', () => {
  const counts = new Map([
    ['unit', { passed: 10, failed: 0 }],
    ['int', { passed: 5, failed: 0 }],
  ]);
  expect(summarise(counts, [])).toEqual({ line: '15 passed, 0 failed', ok: true });
});

test('a failed step never hides behind good counts, and is not counted twice', () => {
  const counts = new Map([
    ['unit', { passed: 10, failed: 0 }],
    ['int', { passed: 5, failed: 2 }],
  ]);
  expect(summarise(counts, ['check'])).toEqual({ line: '15 passed, 3 failed', ok: false });
  expect(summarise(counts, ['int'])).toEqual({ line: '15 passed, 2 failed', ok: false });
  expect(summarise(counts, ['unit', 'int'])).toEqual({ line: '15 passed, 3 failed', ok: false });
});
