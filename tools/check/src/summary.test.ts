import { expect, test } from 'vitest';

import {
  countLog,
  countVitest,
  failedFiles,
  failedTests,
  filesWithUnhandledErrors,
  flakyNamesInLog,
  lastLines,
  passedOnRerun,
  readVitest,
  summarise,
  mergeRerun,
  type VitestResults,
} from './summary.ts';

/** A report with the test outcomes of each file. A file without tests could not be loaded. */
function report(files: Readonly<Record<string, readonly string[]>>): VitestResults {
  return Object.entries(files).map(([name, tests]) => ({
    name: `/project/${name}`,
    status: tests.length === 0 || tests.includes('failed') ? 'failed' : 'passed',
    message: 'Error: broken',
    assertionResults: tests.map((status, index) => ({
      status,
      fullName: `test ${index + 1}`,
      failureMessages: status === 'failed' ? ['Error: late'] : [],
    })),
  }));
}

test('countVitest counts the tests of a report', () => {
  expect(countVitest(report({ 'a.test.ts': ['passed', 'passed', 'failed', 'skipped'] }))).toEqual({
    passed: 2,
    failed: 1,
  });
});

test('countVitest counts a test file that cannot be loaded as a failure', () => {
  expect(countVitest(report({ 'a.test.ts': ['passed'], 'b.test.ts': [] }))).toEqual({ passed: 1, failed: 1 });
});

test('failedFiles names failed files for a second run', () => {
  const files = report({ 'a.test.ts': ['passed'], 'b.test.ts': [], 'c.test.ts': ['passed', 'failed'] });
  expect(failedFiles(files, '/project')).toEqual(['b.test.ts', 'c.test.ts']);
});

test('mergeRerun uses the second result of a repeated file, and passedOnRerun returns its first failure', () => {
  const first = report({
    'a.test.ts': ['passed'],
    'b.test.ts': ['passed', 'failed'],
    'c.test.ts': ['failed'],
    'd.test.ts': [],
  });
  const second = report({
    'b.test.ts': ['passed', 'passed'],
    'c.test.ts': ['failed'],
    'd.test.ts': ['passed'],
  });
  const results = mergeRerun(first, second);
  expect(countVitest(results)).toEqual({ passed: 4, failed: 1 });
  expect(failedTests(results, '/project')).toEqual(['c.test.ts > test 1: Error: late']);
  expect(failedTests(passedOnRerun(first, second), '/project')).toEqual([
    'b.test.ts > test 2: Error: late',
    'd.test.ts > (the file): Error: broken',
  ]);
});

test('mergeRerun keeps a failure if no file was run again', () => {
  const first = report({ 'a.test.ts': ['failed'] });
  expect(countVitest(mergeRerun(first, []))).toEqual({ passed: 0, failed: 1 });
  expect(passedOnRerun(first, [])).toEqual([]);
});

test('flakyNamesInLog returns names that passed only in the second run', () => {
  expect(
    flakyNamesInLog('1 passed, 0 failed\npassed only when run again: a, b\n2 passed, 0 failed\n'),
  ).toEqual(['a', 'b']);
  expect(flakyNamesInLog('2 passed, 0 failed\n')).toEqual([]);
});

test('filesWithUnhandledErrors reads the names of files from the log of vitest, each once', () => {
  const line = '\u001B[31mThis error originated in "\u001B[1mtests/a.int.test.ts\u001B[22m" test file. It';
  expect(filesWithUnhandledErrors(`Unhandled Rejection\n${line}\nother\n${line}\n`)).toEqual([
    'tests/a.int.test.ts',
  ]);
  expect(filesWithUnhandledErrors('all passed\n')).toEqual([]);
});

test('lastLines returns the end of a log without colours', () => {
  const log = `first\n${'filler\n'.repeat(80)}\u001B[31mUnhandled Rejection\u001B[39m\n\n`;
  expect(lastLines(log)).toHaveLength(60);
  expect(lastLines(log).at(-1)).toBe('Unhandled Rejection');
});

test('failedTests names each failed test by file and title, with the start of its message', () => {
  const files = readVitest(
    JSON.stringify({
      testResults: [
        {
          name: '/project/a.test.ts',
          status: 'failed',
          assertionResults: [
            { status: 'passed', fullName: 'adds', failureMessages: [] },
            { status: 'failed', fullName: 'divides', failureMessages: ['Error: 2\n  is not 3', 'later'] },
          ],
        },
        { name: '/project/b.test.ts', status: 'failed', message: 'No such module', assertionResults: [] },
        { name: '/project/c.test.ts', status: 'passed', message: '', assertionResults: [] },
      ],
    }),
  );
  expect(failedTests(files ?? [], '/project')).toEqual([
    'a.test.ts > divides: Error: 2   is not 3',
    'b.test.ts > (the file): No such module',
  ]);
});

test('readVitest returns null for an incomplete report', () => {
  expect(readVitest('{"testResults": [')).toBeNull();
});

test('countLog uses the last count of a log', () => {
  expect(countLog('1 passed, 0 failed\nmore\n12 passed, 3 failed\n')).toEqual({ passed: 12, failed: 3 });
  expect(countLog('it had 1 passed, 0 failed in the middle')).toBeNull();
});

test('summarise adds all runs to one line', () => {
  const counts = new Map([
    ['unit', { passed: 10, failed: 0 }],
    ['int', { passed: 5, failed: 0 }],
  ]);
  expect(summarise(counts, [])).toEqual({ line: '15 passed, 0 failed', ok: true });
});

test('summarise counts a failed step without failed tests once, and no failure twice', () => {
  const counts = new Map([
    ['unit', { passed: 10, failed: 0 }],
    ['int', { passed: 5, failed: 2 }],
  ]);
  expect(summarise(counts, ['check'])).toEqual({ line: '15 passed, 3 failed', ok: false });
  expect(summarise(counts, ['int'])).toEqual({ line: '15 passed, 2 failed', ok: false });
  expect(summarise(counts, ['unit', 'int'])).toEqual({ line: '15 passed, 3 failed', ok: false });
});
