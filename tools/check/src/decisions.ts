export interface Page {
  readonly file: string;
  readonly text: string;
}

const titlePattern = /^# \d{3}[.:] (.+)$/m;
const statusPattern =
  /^Date: \d{4}-\d{2}-\d{2}\. Status: (?:accepted|(?:superseded|amended) by (?<later>\d{3}(?:, \d{3})*))\.$/;
const requiredSections = ['Context', 'Decision', 'Prior art', 'Consequences'];

/** Problems of one page: file name, title, date-and-status line, sections. */
export function pageProblems({ file, text }: Page): string[] {
  const faults: string[] = [];
  const number = file.slice(0, 3);
  if (!/^\d{3}-[a-z0-9-]+\.md$/.test(file)) faults.push('the file is named NNN-words-with-hyphens.md');
  if (!titlePattern.exec(text)?.[0].startsWith(`# ${number}`))
    faults.push(`the title begins with "# ${number}. "`);
  if (!statusPattern.test(statusLine(text))) {
    faults.push(
      'the line below the title is "Date: YYYY-MM-DD. Status: accepted.", or "superseded by NNN" or "amended by NNN"',
    );
  }
  const headings = [...text.matchAll(/^## (.+)$/gm)].map((match) => match[1]);
  if (headings.join() !== requiredSections.join())
    faults.push(`the sections are, in this order: ${requiredSections.join(', ')}`);
  return faults.map((fault) => `docs/decisions/${file}: ${fault}`);
}

const statusLine = (text: string): string => text.split('\n')[2] ?? '';

/** Pages whose status names a page that does not exist or is not later. */
export function unknownLaterPages(pages: readonly Page[]): string[] {
  const numbers = new Set(pages.map(({ file }) => file.slice(0, 3)));
  return pages.flatMap(({ file, text }) => {
    const later = statusPattern.exec(statusLine(text))?.groups?.['later']?.split(', ') ?? [];
    return later
      .filter((number) => !numbers.has(number) || number <= file.slice(0, 3))
      .map((number) => `docs/decisions/${file}: the status names ${number}, which is no later page`);
  });
}

/** Pages are cited by number, so two pages must not share one. */
export function duplicateNumbers(pages: readonly Page[]): string[] {
  const byNumber = Map.groupBy(pages, ({ file }) => file.slice(0, 3));
  return [...byNumber]
    .filter(([, sharing]) => sharing.length > 1)
    .map(([number, sharing]) => `${number} is taken by ${sharing.map(({ file }) => file).join(' and ')}`);
}

/** The index with one line per page, from its title. The text around the list is kept. */
export function renderIndex(readme: string, pages: readonly Page[]): string {
  const lines = pages
    .toSorted((a, b) => a.file.localeCompare(b.file))
    .map(({ file, text }) => {
      const title = titlePattern.exec(text)?.[1] ?? file;
      return `- [${file.slice(0, 3)}](${file}) ${title}`;
    });
  return readme.replace(/^(?:- \[\d{3}\][^\n]*\n)+/m, () => `${lines.join('\n')}\n`);
}

/** Dependencies that no page mentions. `@scope/*` mentions a whole scope; `@types/` packages need no page. */
export function undocumentedDependencies(dependencies: readonly string[], pages: readonly Page[]): string[] {
  const words = pages.map(({ text }) => text).join('\n');
  const isMentioned = (name: string): boolean =>
    name.startsWith('@types/') || words.includes(name) || words.includes(`\`${name.split('/')[0]}/*\``);
  return dependencies
    .filter((name) => !isMentioned(name))
    .map((name) => `${name}: no page in docs/decisions says why it is used`);
}
