import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { HttpServer } from '@millrace/platform/http';
import { productFolder } from '@millrace/platform/release';
import { pageHeaders } from './page-headers.ts';

const source = path.join(productFolder, 'docs', 'errors.md');

/** The page that `docUrl` of every error names. It needs no key, because a client with an error might have none that works. */
export function serveErrorPage(server: HttpServer): void {
  const text = readFileSync(source, 'utf8');
  const html = renderErrorPage(text);
  server.fastify.get('/docs/errors', { onRequest: server.admitAnonymous }, async (request, reply) => {
    const forBrowser = /\btext\/html\b/.test(request.headers.accept ?? '');
    return reply
      .headers({ ...pageHeaders(style), 'cache-control': 'public, max-age=300', vary: 'accept' })
      .header('content-type', forBrowser ? 'text/html; charset=utf-8' : 'text/markdown; charset=utf-8')
      .send(forBrowser ? html : text);
  });
}

const style = `
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
:target { background: Mark; color: MarkText; }
`;

/** Renders the Markdown subset of docs/errors.md: headings, paragraphs, lists, code and bold. `#REASON` links to its section. */
export function renderErrorPage(markdown: string): string {
  const blocks = markdown.split(/\n{2,}/).map((block) => block.trim());
  const body = blocks.filter((block) => block !== '').map(renderBlock);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Errors</title>
<style>${style}</style>
${body.join('\n')}
<p><a href="/status">Status of this installation</a></p>
</html>
`;
}

function renderBlock(block: string): string {
  const heading = /^(#+) (.+)$/.exec(block);
  if (heading !== null) {
    const [, marks = '', words = ''] = heading;
    const id = marks.length === 1 ? '' : ` id="${escapeHtml(words)}"`;
    return `<h${marks.length}${id}>${renderWords(words)}</h${marks.length}>`;
  }
  if (!block.startsWith('- ')) return `<p>${renderWords(block)}</p>`;
  const items = block.slice(2).split('\n- ');
  return `<ul>${items.map((item) => `<li>${renderWords(item)}</li>`).join('')}</ul>`;
}

function renderWords(text: string): string {
  return escapeHtml(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\*\*([^*]+)\*\*/g, '<b>$1</b>');
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
