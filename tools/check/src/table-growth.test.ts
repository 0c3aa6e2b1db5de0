import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderSizes, tablesInPage, tablesInSchema } from './table-growth.ts';

const root = join(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'docs/explanation/table-growth.md'), 'utf8');
const schema = readFileSync(join(root, 'db/schema.sql'), 'utf8');

describe('docs/explanation/table-growth.md', () => {
  it('lists exactly the tables of db/schema.sql', () => {
    expect(tablesInSchema(schema).length).toBeGreaterThan(100);
    expect([...tablesInPage(page)].toSorted()).toEqual([...tablesInSchema(schema)].toSorted());
  });

  it('has the sizes that its numbers give', () => {
    expect(page, 'run: tools/run tools/check/table-growth/main.ts').toBe(renderSizes(page));
  });
});

const drivers = '| thing | stock | 10 |\n| order | a day | 1 000 |\n';

describe('renderSizes', () => {
  it('multiplies a stock with its bytes, a rate also with its days, and adds them up', () => {
    const text = `${drivers}| \`a\` | 2 | thing | - | 50000000 | 0 | x |\n| \`b\` | 3 | order | 10 | 1000 * | 0 | x |\n| \`c\` | 1 | order | ever | 1000 | 0 | x |\n| **sum** | | | | | 0 | |`;
    expect(
      renderSizes(text)
        .split('\n')
        .slice(2)
        .map((line) => line.split('|')[6]?.trim()),
    ).toEqual(['1.00', '0.03', '1.09', '2.13']);
  });

  it.each([
    ['an unknown driver', '| `a` | 2 | nothing | - | 5 | 0 | x |'],
    ['a rate without a period', '| `a` | 2 | order | - | 5 | 0 | x |'],
    ['a stock with a period', '| `a` | 2 | thing | 90 | 5 | 0 | x |'],
    ['a missing number', '| `a` | few | thing | - | 5 | 0 | x |'],
  ])('refuses %s', (_, line) => {
    expect(() => renderSizes(drivers + line)).toThrow('`a`');
  });
});

describe('tablesInSchema', () => {
  it('leaves out partitions', () => {
    const text =
      'CREATE TABLE public.a (\n);\nCREATE TABLE public.a_rest (\n);\nALTER TABLE ONLY public.a ATTACH PARTITION public.a_rest DEFAULT;';
    expect(tablesInSchema(text)).toEqual(['a']);
  });
});
