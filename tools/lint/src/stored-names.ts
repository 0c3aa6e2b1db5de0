import { wordsOf } from './rules/glossary-words.ts';
import { refusedWords } from './refused-words.ts';

/** Fields of stored or printed JSON that no schema lists. */
const jsonFields = ['terminateAskedAtMs', 'strays'];

/** Property names that keep a refused word, because stored data or existing clients use them. */
export function storedNamesIn(schema: string, apis: readonly unknown[]): readonly string[] {
  const columns = schema.matchAll(/^ {4}"?([a-z]+)"? [a-z]/gm);
  const names = new Set([
    ...[...columns].map(([, name = '']) => name),
    ...apis.flatMap(fieldsOf),
    ...jsonFields,
  ]);
  return [...names]
    .filter((name) => wordsOf(name).some((word) => Object.hasOwn(refusedWords, word)))
    .toSorted();
}

function fieldsOf(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) => [
    ...(key === 'properties' ? Object.keys(value as object) : []),
    ...fieldsOf(value),
  ]);
}

export function renderStoredNames(names: readonly string[]): string {
  const rows = names.map((name) => `  '${name}',\n`).join('');
  return `// Made by npm run check -- --only stored-names --fix.\nexport const storedNames: ReadonlySet<string> = new Set([\n${rows}]);\n`;
}
