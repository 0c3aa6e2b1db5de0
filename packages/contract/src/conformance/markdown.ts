/** Just enough Markdown to read docs/interface.md: headings, tables and the prose between them. */

export interface Table {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface Section {
  readonly title: string;
  /** Everything under the heading that is no table, one line per paragraph or list item. */
  readonly lines: readonly string[];
  readonly tables: readonly Table[];
}

function cells(line: string): string[] {
  return line
    .slice(1, line.lastIndexOf('|'))
    .split('|')
    .map((cell) => cell.trim());
}

export function parseSections(text: string): readonly Section[] {
  const sections: { title: string; lines: string[]; tables: { header: string[]; rows: string[][] }[] }[] = [];
  let inTable = false;
  for (const line of text.split('\n')) {
    const heading = /^#+ (.*)$/.exec(line);
    if (heading !== null) {
      sections.push({ title: (heading[1] ?? '').trim(), lines: [], tables: [] });
      inTable = false;
      continue;
    }
    const section = sections.at(-1);
    if (section === undefined) continue;
    if (!line.startsWith('|')) {
      inTable = false;
      if (line.trim() !== '') section.lines.push(line.trim());
    } else if (!inTable) {
      section.tables.push({ header: cells(line), rows: [] });
      inTable = true;
    } else if (!/^\|[\s|:-]+\|$/.test(line)) {
      section.tables.at(-1)?.rows.push(cells(line));
    }
  }
  return sections;
}

/** The section with exactly this title, or whose title starts with it. */
export function sectionNamed(sections: readonly Section[], title: string): Section {
  const found =
    sections.find((section) => section.title === title) ??
    sections.find((section) => section.title.startsWith(title));
  if (found === undefined) throw new Error(`docs/interface.md has no section "${title}".`);
  return found;
}

/** The only table of a section. */
export function tableOf(section: Section): Table {
  const [table] = section.tables;
  if (table === undefined) throw new Error(`Section "${section.title}" of docs/interface.md has no table.`);
  return table;
}

/** The first line that matches, with its groups; every sentence the test relies on must be there. */
export function sentence(section: Section, pattern: RegExp): RegExpExecArray {
  for (const line of section.lines) {
    const match = pattern.exec(line);
    if (match !== null) return match;
  }
  throw new Error(`Section "${section.title}" of docs/interface.md has no sentence like ${String(pattern)}.`);
}
