import { describe, expect, test } from 'vitest';
import { pageProseProblems, percentile, proseOf, sentenceLengths } from './prose.ts';

const page = [
  '# Credit leases',
  '',
  'A lease expires with `told_as`. The [gateway](x.md) then asks for another.',
  '',
  '- One item',
  '',
  '| Term | Meaning |',
  '| ---- | ------- |',
  '| lease | a reservation |',
  '',
  '```sh',
  'echo the purse',
  '```',
].join('\n');

test('proseOf returns paragraphs, items and cells, with code as one word and without blocks', () => {
  expect(proseOf(page)).toEqual({
    texts: ['Credit leases', 'A lease expires with x. The gateway then asks for another.', 'One item'],
    cells: ['Term', 'Meaning', 'lease', 'a reservation'],
  });
});

test('sentenceLengths counts the words of each sentence', () => {
  expect(sentenceLengths('A lease expires with x. The gateway then asks for another.')).toEqual([5, 6]);
});

test('percentile returns the value that the share of the values does not exceed', () => {
  expect(percentile([5, 1, 4, 2, 3], 0.5)).toBe(3);
  expect(percentile([], 0.95)).toBe(0);
});

describe('pageProseProblems', () => {
  test('reports nothing for plain English', () => {
    expect(pageProseProblems({ file: 'docs/guides/leases.md', text: page })).toEqual([]);
  });

  test('reports a refused word, a refused phrase and a sentence without a noun', () => {
    const text = 'Each purse is refilled.\n\nThe gateway gives up.\n\nWhat is held is released.';
    expect(pageProseProblems({ file: 'PAGE.md', text })).toEqual([
      expect.stringContaining('PAGE.md: "purse"'),
      expect.stringContaining('PAGE.md: "gives up"'),
      expect.stringContaining('PAGE.md: "What is held is released"'),
    ]);
  });

  test('allows questions that begin with What', () => {
    expect(pageProseProblems({ file: 'PAGE.md', text: '## What can a lease buy?' })).toEqual([]);
  });

  test('reports a long table cell in a guide, and not in a decision', () => {
    const text = `| Term |\n| --- |\n| ${'word '.repeat(25)}|`;
    expect(pageProseProblems({ file: 'docs/guides/x.md', text })).toHaveLength(1);
    expect(pageProseProblems({ file: 'docs/decisions/x.md', text })).toEqual([]);
  });

  test('reports a README of a feature with more than 120 lines', () => {
    const text = 'One line.\n'.repeat(121);
    expect(pageProseProblems({ file: 'packages/core/src/x/README.md', text })).toHaveLength(1);
    expect(pageProseProblems({ file: 'docs/performance.md', text })).toEqual([]);
  });
});
