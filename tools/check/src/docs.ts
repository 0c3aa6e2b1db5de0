import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface Page {
  /** Path from the root of the repository. */
  readonly file: string;
  readonly text: string;
}

/** Links, files and npm scripts on the page that do not exist. */
export function brokenReferences(page: Page, root: string, scripts: ReadonlySet<string>): string[] {
  const prose = withoutBlocks(page.text);
  return [
    ...relativeLinks(prose).filter((link) => !linkExists(page, root, link)),
    ...namedFiles(prose).filter((file) => !isFile(page, root, file)),
    ...namedScripts(page.text).filter((script) => !scripts.has(script)),
  ].map((end) => `${page.file}: ${end}`);
}

/** Heading anchors as GitHub generates them. */
export function anchorsOf(markdown: string): ReadonlySet<string> {
  const headings = [...withoutBlocks(markdown).matchAll(/^#+ (.+)$/gm)].map(([, words = '']) => words);
  return new Set(
    headings.map((words) =>
      words
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

function withoutBlocks(markdown: string): string {
  return markdown.replaceAll(/^```[\s\S]*?^```$/gm, '');
}

function relativeLinks(prose: string): string[] {
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => !/^[a-z]+:/.test(link));
}

function linkExists(page: Page, root: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = join(root, dirname(page.file), path);
  if (path !== '' && !existsSync(target)) return false;
  if (anchor === undefined) return true;
  return anchorsOf(path === '' ? page.text : readFileSync(target, 'utf8')).has(anchor);
}

/** File names in code type, such as `src/main.ts`. Names with capitals or placeholders are skipped. */
function namedFiles(prose: string): string[] {
  const names = [...prose.matchAll(/`((?:[a-z0-9_.-]+\/)+[a-z0-9_.-]+\.(?:ts|md|json|jsonc|sql))`/g)];
  return names.map(([, file = '']) => file);
}

/** A page may name a file relative to itself, to its `src` folder or to the root. `.millrace/` exists only at run time. */
function isFile(page: Page, root: string, file: string): boolean {
  if (file.startsWith('.millrace/')) return true;
  const here = join(root, dirname(page.file));
  return [here, join(here, 'src'), root].some((folder) => existsSync(join(folder, file)));
}

function namedScripts(markdown: string): string[] {
  return [...markdown.matchAll(/\bnpm run (?:--?[a-z]+ )*([a-z][a-z:-]*)/g)].map(([, script = '']) => script);
}
