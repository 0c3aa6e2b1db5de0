import { readFileSync } from 'node:fs';
import { docUrlFor, reasons } from '@millrace/contract';
import { expect, it } from 'vitest';
import { renderErrorPage } from './error-page.ts';

const page = renderErrorPage(readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8'));

it('error page has a section for the docUrl of every reason', () => {
  for (const reason of reasons) {
    const [path, anchor] = docUrlFor(reason).split('#');
    expect(path).toBe('/docs/errors');
    expect(page).toContain(`<h2 id="${anchor}">`);
  }
});

it('error page renders all Markdown and escapes HTML', () => {
  expect(page).not.toMatch(/\*\*|^## |^- /m);
  expect(renderErrorPage('Send <API key> & `x`.')).toContain(
    '<p>Send &lt;API key&gt; &amp; <code>x</code>.</p>',
  );
});
