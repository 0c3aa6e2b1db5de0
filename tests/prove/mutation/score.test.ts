import { describe, expect, test } from 'vitest';
import { drawSample } from './sample-checker.ts';
import {
  chanceOfAtMost,
  describeScore,
  describeSurvivor,
  scoreProblem,
  scoreFiles,
  type TriedMutant,
} from './score.ts';

const mutant = (status: TriedMutant['status'], line = 1, replacement = 'a >= b'): TriedMutant => ({
  fileName: 'x.ts',
  location: { start: { line, column: 7 }, end: { line, column: 9 } },
  mutatorName: 'EqualityOperator',
  replacement,
  status,
});
const mutants = (counts: Partial<Record<TriedMutant['status'], number>>): TriedMutant[] =>
  Object.entries(counts).flatMap(([status, count]) =>
    Array.from({ length: count }, () => mutant(status as TriedMutant['status'])),
  );
const scoreOf = (counts: Parameters<typeof mutants>[0]) => {
  const [score] = scoreFiles(['x.ts'], mutants(counts));
  return score ?? expect.fail('one file has one score');
};

describe('scoreProblem of a whole file', () => {
  test('passes at the required share and not below; timeouts count as detected, load errors do not count', () => {
    expect(
      scoreProblem(scoreOf({ Killed: 7, Timeout: 1, Survived: 2, RuntimeError: 9 }), 'whole'),
    ).toBeNull();
    expect(scoreProblem(scoreOf({ Killed: 79, Survived: 20, NoCoverage: 1 }), 'whole')).toContain('79.0 %');
  });

  test('fails for a file without mutants', () => {
    expect(scoreProblem(scoreOf({ RuntimeError: 3 }), 'whole')).toContain('nothing to mutate');
    expect(scoreProblem(scoreOf({}), 'sample')).toContain('nothing to mutate');
  });

  test('is described with survivors and uncovered mutants counted separately', () => {
    expect(describeScore(scoreOf({ Killed: 3, Survived: 1, NoCoverage: 1, RuntimeError: 1 }))).toBe(
      '60.0 % of 5 (3 killed, 0 timed out, 1 survived, 1 not covered, 1 could not be loaded)',
    );
  });
});

describe('scoreProblem of a sample', () => {
  test('tolerates chance and fails a file far below the required share', () => {
    expect(scoreProblem(scoreOf({ Killed: 8, Survived: 4 }), 'sample')).toBeNull();
    expect(scoreProblem(scoreOf({ Killed: 3, Survived: 9 }), 'sample')).toContain('25.0 %');
    expect(scoreProblem(scoreOf({ Killed: 60, Survived: 40 }), 'sample')).toContain('60.0 %');
  });

  test('uses the tail of the binomial distribution', () => {
    expect(chanceOfAtMost(1, 2, 0.5)).toBeCloseTo(0.75, 12);
    expect(chanceOfAtMost(5, 12, 0.8)).toBeCloseTo(0.003_903, 6);
    expect(chanceOfAtMost(12, 12, 0.8)).toBeCloseTo(1, 12);
  });

  test('draws the same number of mutants per file, reproducibly for each seed', () => {
    const all = ['a.ts', 'b.ts'].flatMap((fileName) =>
      Array.from({ length: 50 }, (_, line) => ({
        ...mutant('Pending', line),
        fileName,
        id: `${fileName} ${line}`,
        replacement: 'x',
      })),
    );
    const first = drawSample(all, { seed: 1, mutantsPerFile: 10 });
    expect([...first].filter((id) => id.startsWith('a.ts'))).toHaveLength(10);
    expect(first.size).toBe(20);
    expect(drawSample(all.toReversed(), { seed: 1, mutantsPerFile: 10 })).toEqual(first);
    expect(drawSample(all, { seed: 2, mutantsPerFile: 10 })).not.toEqual(first);
  });
});

test('describeSurvivor prints one line with position and replacement', () => {
  expect(describeSurvivor(mutant('Survived', 12, '{\n  return 1;\n}'))).toBe(
    'x.ts:12:7 EqualityOperator becomes { return 1; }',
  );
  expect(describeSurvivor(mutant('NoCoverage', 12))).toBe(
    'x.ts:12:7 EqualityOperator becomes a >= b, and no test runs it',
  );
  expect(describeSurvivor(mutant('Survived', 1, 'y'.repeat(200)))).toHaveLength(
    'x.ts:1:7 EqualityOperator becomes '.length + 100,
  );
});
