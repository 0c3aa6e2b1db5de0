import { expect, test } from 'vitest';

import { failureReport, outcomeLine, runSteps } from './run.ts';
import type { Outcome } from './run.ts';
import { chooseSteps, steps } from './steps.ts';
import type { Step } from './steps.ts';

const step = (name: string): Step => ({ name, finds: `faults of ${name}`, command: [name] });
const four = ['a', 'b', 'c', 'd'].map(step);

test('chooseSteps keeps the named steps, also of a list, and refuses an unknown name', () => {
  expect(chooseSteps(four, []).map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd']);
  expect(chooseSteps(four, ['c,a', 'd']).map(({ name }) => name)).toEqual(['a', 'c', 'd']);
  expect(() => chooseSteps(four, ['nope'])).toThrow('a, b, c, d');
});

test('steps: the formatter is the last fixer, so that no step writes unformatted code after it', () => {
  expect(steps.findLast(({ fix }) => fix !== undefined)?.name).toBe('format');
});

test('runSteps runs all steps after a failure, and no more at once than allowed', async () => {
  let running = 0;
  let most = 0;
  const seen: string[] = [];
  const outcomes = await runSteps(
    four,
    2,
    async ([name = '']) => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
      return { code: name === 'b' ? 1 : 0, output: `output of ${name}` };
    },
    ({ step: { name } }) => seen.push(name),
  );
  expect(seen.toSorted()).toEqual(['a', 'b', 'c', 'd']);
  expect(most).toBe(2);
  expect(outcomes.filter(({ ok }) => !ok).map((outcome) => outcome.step.name)).toEqual(['b']);
});

test('failureReport contains the output of failed steps only', () => {
  const outcomes: Outcome[] = [
    { step: step('a'), ok: true, elapsedMs: 1234, output: 'chatter' },
    { step: step('b'), ok: false, elapsedMs: 20, output: 'the fault' },
  ];
  const report = failureReport(outcomes);
  expect(report).toContain('the fault');
  expect(report).toContain('npm run check -- --only b');
  expect(report).not.toContain('chatter');
  expect(report.endsWith('1 passed, 1 failed')).toBe(true);
  expect(outcomes.map(outcomeLine)).toEqual([
    'ok   a                  1.2 s',
    'FAIL b                  0.0 s',
  ]);
});
