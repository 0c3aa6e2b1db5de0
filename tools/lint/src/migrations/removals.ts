import { tableOf, type Statement } from './statements.ts';

/** An object of the schema that a statement drops or renames. */
export interface Removal {
  readonly kind: 'table' | 'column' | 'constraint' | 'index' | 'view' | 'function' | 'type' | 'sequence';
  /** Of a column: TABLE.COLUMN. */
  readonly name: string;
  /** The table that it belongs to, if there is one. */
  readonly table: string | null;
}

const kinds: Readonly<Record<string, Removal['kind']>> = {
  index: 'index',
  view: 'view',
  'materialized view': 'view',
  function: 'function',
  procedure: 'function',
  type: 'type',
  domain: 'type',
  sequence: 'sequence',
};
const kindPattern = Object.keys(kinds).join('|');
const dropped = new RegExp(
  `^drop (${kindPattern}|table) (?:concurrently )?(?:if exists )?(.+?)(?: cascade| restrict)?$`,
);
const renamed = new RegExp(
  `^alter (${kindPattern}) (?:if exists )?([\\w.]+).* rename (?:to|value|attribute) `,
);

export function removalsOf(statement: Statement): readonly Removal[] {
  const { text } = statement;
  const [, droppedKind = '', names = ''] = dropped.exec(text) ?? [];
  if (droppedKind === 'table') return listOf(names).map((name) => ({ kind: 'table', name, table: name }));
  const kind = kinds[droppedKind];
  if (kind !== undefined) return listOf(names).map((name) => ({ kind, name, table: null }));
  const [, renamedKind = '', name = ''] = renamed.exec(text) ?? [];
  const ofRenamed = kinds[renamedKind];
  if (ofRenamed !== undefined) return [{ kind: ofRenamed, name: plain(name), table: null }];
  const table = text.startsWith('alter table ') ? tableOf(statement) : null;
  return table === null ? [] : removedFromTable(table, text);
}

/** `a, b(int, text)` has two names. */
const listOf = (names: string): string[] => withoutBrackets(names).split(',').map(plain);
const plain = (name: string): string => name.trim().replace(/^public\./, '');

function withoutBrackets(text: string): string {
  let depth = 0;
  let outside = '';
  for (const character of text) {
    if (character === '(') depth += 1;
    if (depth === 0) outside += character;
    if (character === ')') depth -= 1;
  }
  return outside;
}

function removedFromTable(table: string, text: string): readonly Removal[] {
  return withoutBrackets(text)
    .split(',')
    .flatMap((action): readonly Removal[] => {
      // The first action follows the name of the table.
      const words = action.trim().replace(/^alter table (?:if exists )?(?:only )?\S+ ?/, '');
      if (words.startsWith('rename to ')) return [{ kind: 'table', name: table, table }];
      const [, ofConstraint] = /^(?:drop|rename) constraint (?:if exists )?(\w+)/.exec(words) ?? [];
      if (ofConstraint !== undefined) return [{ kind: 'constraint', name: ofConstraint, table }];
      const [, ofColumn] = /^(?:drop|rename)(?: column)?(?: if exists)? (\w+)/.exec(words) ?? [];
      return ofColumn === undefined ? [] : [{ kind: 'column', name: `${table}.${ofColumn}`, table }];
    });
}
