/** Parses the Markdown of docs/interface.md: headings, tables and prose. */

export interface Table {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface Section {
  readonly title: string;
  /** The text under the heading outside tables, one line per paragraph or list item. */
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

/** The section whose title is or starts with `title`. */
export function sectionNamed(sections: readonly Section[], title: string): Section {
  const found =
    sections.find((section) => section.title === title) ??
    sections.find((section) => section.title.startsWith(title));
  if (found === undefined) throw new Error(`docs/interface.md has no section "${title}".`);
  return found;
}

export function tableOf(section: Section): Table {
  const [table] = section.tables;
  if (table === undefined) throw new Error(`Section "${section.title}" of docs/interface.md has no table.`);
  return table;
}

/** The first line that matches, with its groups. Throws if there is none, because the comparison relies on it. */
export function sentence(section: Section, pattern: RegExp): RegExpExecArray {
  for (const line of section.lines) {
    const match = pattern.exec(line);
    if (match !== null) return match;
  }
  throw new Error(`Section "${section.title}" of docs/interface.md has no sentence like ${String(pattern)}.`);
}
