export interface Page {
  readonly file: string;
  readonly text: string;
}

const titlePattern = /^# \d{3}[.:] (.+)$/m;
const requiredSections = ['Context', 'Decision', 'What the largest users run', 'Consequences'];

/** What is wrong with a page, as sentences. */
export function pageProblems({ file, text }: Page): string[] {
  const faults: string[] = [];
  const number = file.slice(0, 3);
  if (!/^\d{3}-[a-z0-9-]+\.md$/.test(file)) faults.push('the file is named NNN-words-with-hyphens.md');
  if (!titlePattern.exec(text)?.[0].startsWith(`# ${number}`))
    faults.push(`the title begins with "# ${number}. "`);
  const headings = [...text.matchAll(/^## (.+)$/gm)].map((match) => match[1]);
  if (headings.join() !== requiredSections.join())
    faults.push(`the parts are, in this order: ${requiredSections.join(', ')}`);
  return faults.map((fault) => `docs/decisions/${file}: ${fault}`);
}

/** Numbers are how people cite a page. */
export function duplicateNumbers(pages: readonly Page[]): string[] {
  const byNumber = Map.groupBy(pages, ({ file }) => file.slice(0, 3));
  return [...byNumber]
    .filter(([, sharing]) => sharing.length > 1)
    .map(([number, sharing]) => `${number} is taken by ${sharing.map(({ file }) => file).join(' and ')}`);
}

/** The index with one line for each page, made of its title. What stands around the list is kept. */
export function renderIndex(readme: string, pages: readonly Page[]): string {
  const lines = pages
    .toSorted((a, b) => a.file.localeCompare(b.file))
    .map(({ file, text }) => {
      const title = titlePattern.exec(text)?.[1] ?? file;
      return `- [${file.slice(0, 3)}](${file}) ${title}`;
    });
  return readme.replace(/^(?:- \[\d{3}\][^\n]*\n)+/m, () => `${lines.join('\n')}\n`);
}

/** Dependencies that no page speaks of. `@scope/*` speaks of a whole scope; types belong to what they describe. */
export function undocumentedDependencies(dependencies: readonly string[], pages: readonly Page[]): string[] {
  const words = pages.map(({ text }) => text).join('\n');
  const isMentioned = (name: string): boolean =>
    name.startsWith('@types/') || words.includes(name) || words.includes(`\`${name.split('/')[0]}/*\``);
  return dependencies
    .filter((name) => !isMentioned(name))
    .map((name) => `${name}: no page in docs/decisions says why it is here`);
}
