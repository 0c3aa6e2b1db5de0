import { readFileSync } from 'node:fs';
import { docUrlFor, reasons } from '@millrace/contract';
import { expect, it } from 'vitest';
import { renderErrorPage } from './error-page.ts';

const page = renderErrorPage(readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8'));

it('has the section that docUrl of every reason points to', () => {
  for (const reason of reasons) {
    const [path, anchor] = docUrlFor(reason).split('#');
    expect(path).toBe('/docs/errors');
    expect(page).toContain(`<h2 id="${anchor}">`);
  }
});

it('leaves no Markdown in sight and lets no text become markup', () => {
  expect(page).not.toMatch(/\*\*|^## |^- /m);
  expect(renderErrorPage('Send <API key> & `x`.')).toContain(
    '<p>Send &lt;API key&gt; &amp; <code>x</code>.</p>',
  );
});
