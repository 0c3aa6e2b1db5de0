import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface Page {
  /** From the root of the repository. */
  readonly file: string;
  readonly text: string;
}

/** What a reader of a page would try in vain: links, files and npm scripts that are not there. */
export function brokenReferences(page: Page, root: string, scripts: ReadonlySet<string>): string[] {
  const prose = withoutBlocks(page.text);
  return [
    ...relativeLinks(prose).filter((link) => !linkExists(page, root, link)),
    ...namedFiles(prose).filter((file) => !isFile(page, root, file)),
    ...namedScripts(page.text).filter((script) => !scripts.has(script)),
  ].map((end) => `${page.file}: ${end}`);
}

/** The anchors of a page as GitHub makes them. */
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

/** Files named in code type, such as `src/main.ts`. Names with capitals or signs in them stand for any file. */
function namedFiles(prose: string): string[] {
  const names = [...prose.matchAll(/`((?:[a-z0-9_.-]+\/)+[a-z0-9_.-]+\.(?:ts|md|json|jsonc|sql))`/g)];
  return names.map(([, file = '']) => file);
}

/** A page may name a file from where it stands, from its `src` folder, or from the root. State is made while running. */
function isFile(page: Page, root: string, file: string): boolean {
  if (file.startsWith('.millrace/')) return true;
  const here = join(root, dirname(page.file));
  return [here, join(here, 'src'), root].some((folder) => existsSync(join(folder, file)));
}

function namedScripts(markdown: string): string[] {
  return [...markdown.matchAll(/\bnpm run (?:--?[a-z]+ )*([a-z][a-z:-]*)/g)].map(([, script = '']) => script);
}
