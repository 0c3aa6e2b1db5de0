import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { HttpServer } from '@millrace/platform/http';
import { productFolder } from '@millrace/platform/release';
import { escapeHtml } from './error-page.ts';
import { pageHeaders } from './page-headers.ts';

const folder = path.join(productFolder, 'docs', 'runbooks');
const PREFIX = '/docs/runbooks/';

/**
 * The pages to which the health page links. They need no key: they are part of the published source, and an operator may need one
 * while sign-in does not work. All are read at the start, so that a request opens no file.
 */
export function serveRunbooks(server: HttpServer): void {
  const pages = new Map(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.md'))
      .map((file) => {
        const name = file.slice(0, -'.md'.length);
        return [name, renderRunbook(readFileSync(path.join(folder, file), 'utf8'), name)];
      }),
  );
  for (const [name, html] of pages) {
    server.fastify.get(`${PREFIX}${name}`, { onRequest: server.admitAnonymous }, async (_request, reply) =>
      reply.headers({ ...pageHeaders(style), 'cache-control': 'public, max-age=300' }).send(html),
    );
  }
}

const style = `
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: break-word; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { border: 1px solid GrayText; padding: .3rem .6rem; text-align: left; vertical-align: top; }
pre { overflow-x: auto; border: 1px solid GrayText; padding: .6rem; }
:target { background: Mark; color: MarkText; }
`;

/** Renders the Markdown of our runbooks: headings, paragraphs, lists, tables, code, bold and links. */
export function renderRunbook(text: string, name: string): string {
  const markdown = text.replaceAll(
    /\]\(([^()\s]{1,300})\)/g,
    (_, target: string) => `](${resolveLink(target, name)})`,
  );
  const sections = markdown.split(/^ {0,8}```[a-z]{0,16}$/m);
  const body = sections.map((part, nth) =>
    nth % 2 === 1 ? `<pre tabindex="0"><code>${escapeHtml(part.trim())}</code></pre>` : renderBlocks(part),
  );
  const title = /^# (.+)$/m.exec(markdown)?.[1] ?? 'Runbook';
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
<main>
${body.join('\n')}
</main>
</html>
`;
}

function renderBlocks(text: string): string {
  const blocks = text.split(/\n{2,}/).map((block) => block.replace(/^\n/, '').trimEnd());
  return blocks
    .filter((block) => block.trim() !== '')
    .map(renderBlock)
    .join('\n');
}

function renderBlock(block: string): string {
  const heading = /^(#+) (.+)$/.exec(block);
  if (heading !== null) {
    const [, marks = '', words = ''] = heading;
    return `<h${marks.length} id="${slugOf(words)}">${renderWords(words)}</h${marks.length}>`;
  }
  if (block.startsWith('|')) return renderTable(block.split('\n'));
  const ordered = /^ *\d+\. /.test(block);
  if (ordered || /^ *- /.test(block)) return renderList(block, ordered ? 'ol' : 'ul');
  return `<p>${renderWords(block)}</p>`;
}

function renderList(block: string, tag: 'ol' | 'ul'): string {
  const items: string[] = [];
  let start = 1;
  for (const line of block.split('\n')) {
    const [mark, number] = /^ *(?:-|(\d+)\.) /.exec(line) ?? [];
    if (mark === undefined) items.push(`${items.pop() ?? ''} ${line.trim()}`);
    else {
      if (items.length === 0) start = Number(number ?? 1);
      items.push(line.slice(mark.length));
    }
  }
  const from = start === 1 ? '' : ` start="${start}"`;
  return `<${tag}${from}>${items.map((item) => `<li>${renderWords(item)}</li>`).join('')}</${tag}>`;
}

function renderTable([head = '', , ...rows]: readonly string[]): string {
  const cells = (row: string, tag: 'td' | 'th'): string =>
    splitCells(row)
      .map((cell) => `<${tag}>${renderWords(cell)}</${tag}>`)
      .join('');
  const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('');
  return `<table tabindex="0"><thead><tr>${cells(head, 'th')}</tr></thead><tbody>${body}</tbody></table>`;
}

/** Cells may contain an escaped bar. */
function splitCells(row: string): readonly string[] {
  return row
    .replaceAll('\\|', '\u0000')
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll('\u0000', '|'));
}

function renderWords(text: string): string {
  return escapeHtml(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\*\*([^*]+)\*\*/g, '<b>$1</b>')
    .replaceAll(/\[([^\][]{1,200})\]\(([^()\s]{1,300})\)/g, (_, words: string, target: string) => {
      const isServed = /^(?:#|https:|\/docs\/runbooks\/)/.test(target);
      return isServed ? `<a href="${target}">${words}</a>` : words;
    });
}

/** The address of a linked page. Those of other folders keep their relative path, because the api does not serve them. */
function resolveLink(target: string, name: string): string {
  const [, page = '', anchor = ''] = /^([^#:]+)\.md(#[\w-]+)?$/.exec(target) ?? [];
  const resolved = path.posix.join(PREFIX, path.posix.dirname(name), page);
  return page !== '' && resolved.startsWith(PREFIX) ? `${resolved}${anchor}` : target;
}

/** The anchor that GitHub gives to a heading. */
function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');
}
