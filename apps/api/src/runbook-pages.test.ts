import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { renderRunbook } from './runbook-pages.ts';

const repository = path.join(import.meta.dirname, '..', '..', '..');

it('every runbook that a health problem names is a page with that section', () => {
  const source = readFileSync(path.join(repository, 'packages/core/src/operator-health/problems.ts'), 'utf8');
  const alerts = [...source.matchAll(/alert\('([\w-]+)', '(\w+)'\)/g)];
  const links = new Set(alerts.map(([, page, name]) => `alerts/${page}#millrace${name}`));
  expect(links.size).toBeGreaterThan(15);
  for (const link of links) {
    const [name = '', section = ''] = link.split('#');
    const markdown = readFileSync(path.join(repository, `docs/runbooks/${name}.md`), 'utf8');
    expect(renderRunbook(markdown, name), link).toContain(` id="${section}"`);
  }
});

it('a runbook is rendered with tables, lists, code and links, and its HTML is escaped', () => {
  const html = renderRunbook(
    '# Title\n\nSend `<key>` to **all**, see [fleet](fleet.md#add) and [guide](../guides/running.md).\n\n' +
      '1. One\n   more\n2. Two\n\n| A | B |\n| - | - |\n| x \\| y | <b> |\n\n```sh\na < b\n\nc\n```\n\nEnd',
    'doctor',
  );
  expect(html).toContain('<h1 id="title">Title</h1>');
  expect(html).toContain('<code>&lt;key&gt;</code> to <b>all</b>');
  expect(html).toContain('<a href="/docs/runbooks/fleet#add">fleet</a> and guide.');
  expect(html).toContain('<ol><li>One more</li><li>Two</li></ol>');
  expect(html).toContain('<td>x | y</td><td>&lt;b&gt;</td>');
  expect(html).toContain('<code>a &lt; b\n\nc</code>');
  expect(html).toContain('<p>End</p>');
});

it('links of pages in a subfolder are relative to that folder', () => {
  const html = renderRunbook(
    '[a](fleet.md#one) [b](../restore.md) [c](../../guides/monitoring.md)',
    'alerts/engines',
  );
  expect(html).toContain(
    '<a href="/docs/runbooks/alerts/fleet#one">a</a> <a href="/docs/runbooks/restore">b</a> c',
  );
});

it('the index of runbooks names every page', () => {
  const folder = path.join(repository, 'docs/runbooks');
  const index = readFileSync(path.join(folder, 'README.md'), 'utf8');
  const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.md') && name !== 'README.md',
  );
  expect(pages.filter((name) => !index.includes(`(${name})`))).toEqual([]);
});
