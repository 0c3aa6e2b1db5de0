import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

const folder = join(import.meta.dirname, '../../../docs/decisions');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
const pages = readdirSync(folder).filter((name) => name.endsWith('.md') && name !== 'README.md');
const headings = ['Context', 'Decision', 'What the largest users run', 'Consequences'];

describe('every decision page has its four parts, in order, and its number', () => {
  test.each(pages)('%s', (page) => {
    const text = read(page);
    const found = [...text.matchAll(/^## (.+)$/gm)].map((match) => match[1]);
    expect(page).toMatch(/^\d{3}-[a-z0-9-]+\.md$/);
    expect(text.startsWith(`# ${page.slice(0, 3)}`), `the title begins with ${page.slice(0, 3)}`).toBe(true);
    expect(found).toEqual(headings);
  });
});

test('every decision page is in the list, once, and every entry leads to a page', () => {
  const listed = [...read('README.md').matchAll(/\]\((\d{3}-[^)]+\.md)\)/g)].map((match) => match[1] ?? '');
  expect(listed.toSorted()).toEqual(pages.toSorted());
});

test('no two pages share a number', () => {
  const numbers = pages.map((page) => page.slice(0, 3));
  expect(new Set(numbers).size).toBe(numbers.length);
});
