import { expect, test } from 'vitest';

import {
  pageProblems,
  renderIndex,
  duplicateNumbers,
  undocumentedDependencies,
  unknownLaterPages,
} from './decisions.ts';

const page = (file: string, title: string, status = 'accepted') => ({
  file,
  text: `# ${file.slice(0, 3)}. ${title}\n\nDate: 2026-11-15. Status: ${status}.\n\n## Context\n\n## Decision\n\n## Prior art\n\n## Consequences\n`,
});

test('a page with date, status and the four sections in order has no problem', () => {
  expect(pageProblems(page('012-queues.md', 'One queue'))).toEqual([]);
});

test('a missing section, a wrong number and a wrong file name are each reported', () => {
  const whole = page('012-queues.md', 'One queue');
  expect(pageProblems({ ...whole, text: whole.text.replace('## Decision\n', '') })).toHaveLength(1);
  expect(pageProblems({ ...whole, text: whole.text.replace('012', '013') })).toHaveLength(1);
  expect(pageProblems({ ...whole, file: '012_Queues.md' })).toHaveLength(1);
});

test.each(['accepted', 'superseded by 144', 'amended by 144', 'amended by 144, 157'])(
  'status "%s" is valid',
  (status) => {
    expect(pageProblems(page('012-queues.md', 'One queue', status))).toEqual([]);
  },
);

test.each([
  ['is missing', 'Date: 2026-11-15. Status: accepted.\n\n', ''],
  ['has no date', 'Date: 2026-11-15. ', ''],
  ['has a date in another format', '2026-11-15', '15 November 2026'],
  ['has an unknown status', 'accepted', 'proposed'],
  ['names no later page', 'accepted', 'superseded'],
  ['names a later page without its number', 'accepted', 'superseded by the next page'],
  ['is not directly below the title', 'Date: ', '\nDate: '],
])('a date-and-status line that %s is reported', (_, old, replacement) => {
  const whole = page('012-queues.md', 'One queue');
  const text = whole.text.replace(old, replacement);
  expect(text).not.toBe(whole.text);
  expect(pageProblems({ ...whole, text })).toEqual([
    'docs/decisions/012-queues.md: the line below the title is "Date: YYYY-MM-DD. Status: accepted.", or "superseded by NNN" or "amended by NNN"',
  ]);
});

test('a status that names a missing or an earlier page is reported', () => {
  const pages = [
    page('012-a.md', 'A', 'amended by 013'),
    page('013-b.md', 'B', 'superseded by 012'),
    page('014-c.md', 'C', 'amended by 013, 015'),
  ];
  expect(unknownLaterPages(pages)).toEqual([
    'docs/decisions/013-b.md: the status names 012, which is no later page',
    'docs/decisions/014-c.md: the status names 013, which is no later page',
    'docs/decisions/014-c.md: the status names 015, which is no later page',
  ]);
});

test('two pages with the same number are reported', () => {
  const pages = [page('012-a.md', 'A'), page('012-b.md', 'B'), page('013-c.md', 'C')];
  expect(duplicateNumbers(pages)).toEqual(['012 is taken by 012-a.md and 012-b.md']);
});

test('the index lists pages by number with their titles and keeps the text around the list', () => {
  const readme = '# Decisions\n\nBefore.\n\n- [001](001-old.md) Old\n\n## After\n';
  const index = renderIndex(readme, [page('013-c.md', 'Costs $1'), page('012-a.md', 'A')]);
  expect(index).toContain('- [012](012-a.md) A\n- [013](013-c.md) Costs $1\n\n## After');
  expect(index).toContain('Before.');
  expect(index).not.toContain('Old');
  expect(renderIndex(index, [page('012-a.md', 'A'), page('013-c.md', 'Costs $1')])).toBe(index);
});

test('a dependency that no page mentions is reported', () => {
  const pages = [{ file: '012-a.md', text: 'We use `left-pad` and `@scope/*`.' }];
  expect(undocumentedDependencies(['left-pad', '@scope/one', '@types/left-pad'], pages)).toEqual([]);
  expect(undocumentedDependencies(['right-pad', '@other/one'], pages)).toEqual([
    'right-pad: no page in docs/decisions says why it is used',
    '@other/one: no page in docs/decisions says why it is used',
  ]);
});
