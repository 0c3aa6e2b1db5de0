import { expect, test } from 'vitest';

import { pageProblems, renderIndex, duplicateNumbers, undocumentedDependencies } from './decisions.ts';

const page = (file: string, title: string) => ({
  file,
  text: `# ${file.slice(0, 3)}. ${title}\n\n## Context\n\n## Decision\n\n## What the largest users run\n\n## Consequences\n`,
});

test('a page with its four parts in order has no fault', () => {
  expect(pageProblems(page('012-queues.md', 'One queue'))).toEqual([]);
});

test('a missing part, a wrong number and a wrong name are each said', () => {
  const whole = page('012-queues.md', 'One queue');
  expect(pageProblems({ ...whole, text: whole.text.replace('## Decision\n', '') })).toHaveLength(1);
  expect(pageProblems({ ...whole, text: whole.text.replace('012', '013') })).toHaveLength(1);
  expect(pageProblems({ ...whole, file: '012_Queues.md' })).toHaveLength(1);
});

test('two pages of one number are named', () => {
  const pages = [page('012-a.md', 'A'), page('012-b.md', 'B'), page('013-c.md', 'C')];
  expect(duplicateNumbers(pages)).toEqual(['012 is taken by 012-a.md and 012-b.md']);
});

test('the index lists pages by number with their titles and keeps the words around it', () => {
  const readme = '# Decisions\n\nBefore.\n\n- [001](001-old.md) Old\n\n## After\n';
  const index = renderIndex(readme, [page('013-c.md', 'Costs $1'), page('012-a.md', 'A')]);
  expect(index).toContain('- [012](012-a.md) A\n- [013](013-c.md) Costs $1\n\n## After');
  expect(index).toContain('Before.');
  expect(index).not.toContain('Old');
  expect(renderIndex(index, [page('012-a.md', 'A'), page('013-c.md', 'Costs $1')])).toBe(index);
});

test('a dependency that no page speaks of is named', () => {
  const pages = [{ file: '012-a.md', text: 'We use `left-pad` and `@scope/*`.' }];
  expect(undocumentedDependencies(['left-pad', '@scope/one', '@types/left-pad'], pages)).toEqual([]);
  expect(undocumentedDependencies(['right-pad', '@other/one'], pages)).toEqual([
    'right-pad: no page in docs/decisions says why it is here',
    '@other/one: no page in docs/decisions says why it is here',
  ]);
});
