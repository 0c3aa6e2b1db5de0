import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { decisionFiles, fixtures, repositoryRoot, testsBeside } from './files.ts';

const listed = [...decisionFiles, ...Object.values(fixtures)];

test.each(listed)('the decision file %s exists and has unit tests beside it', (file) => {
  expect(existsSync(join(repositoryRoot, file))).toBe(true);
  expect(testsBeside(dirname(file))).not.toEqual([]);
});

test('the list of decision files has no duplicates', () => {
  expect(new Set(listed).size).toBe(listed.length);
});
