/** Small changes to docs/interface.md, each of which the comparison must report. */

export interface Mutation {
  readonly line: number;
  readonly what: string;
  readonly text: string;
}

const token = /`[^`]+`|\d+|or null|\b(?:required|optional|string|number|integer|boolean|int|float)\b/g;

const swapped: Readonly<Record<string, string>> = {
  'or null': '',
  required: 'optional',
  optional: 'required',
  string: 'number',
  number: 'boolean',
  integer: 'string',
  boolean: 'string',
  int: 'string',
  float: 'string',
};

function replacementOf(found: string): string {
  if (found.startsWith('`')) return `${found.slice(0, -1)}x\``;
  return swapped[found] ?? String(BigInt(found) + 1n);
}

/** Increments every number, misspells every literal, swaps every requirement and type, and removes every row. */
export function mutationsOf(text: string): readonly Mutation[] {
  const lines = text.split('\n');
  const first = lines.findIndex((line) => line.startsWith('## Resources'));
  const mutations: Mutation[] = [];
  const add = (index: number, what: string, replacement: readonly string[]): void => {
    const changed = lines.toSpliced(index, 1, ...replacement);
    mutations.push({ line: index + 1, what, text: changed.join('\n') });
  };
  for (const [index, line] of lines.entries()) {
    if (index < first) continue;
    for (const match of line.matchAll(token)) {
      const after = line.slice(match.index + match[0].length);
      const changed = line.slice(0, match.index) + replacementOf(match[0]) + after;
      add(index, `${match[0]} in "…${line.slice(Math.max(0, match.index - 30), match.index)}"`, [changed]);
    }
    const isHeader = lines[index + 1]?.startsWith('|---') === true;
    if (line.startsWith('| ') && !isHeader) add(index, `row ${line}`, []);
  }
  return mutations;
}
