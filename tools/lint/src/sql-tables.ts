/** A table name in SQL text. */
export interface TableUse {
  readonly name: string;
  readonly access: 'read' | 'write';
}

const reads = new Set(['from', 'join', 'using']);
const writes = new Set(['into', 'update', 'truncate', 'lock']);
const beforeName = new Set(['only', 'lateral', 'table']);
const startsQuery = new Set(['select', 'with', 'values']);
/** Keywords that can follow a table and are not its alias. */
const afterTable = new Set(
  (
    'where join left right inner full cross natural on set order group limit offset for union returning using values ' +
    'having select window'
  ).split(' '),
);

/** Splits SQL into words, commas, parentheses and other characters, without quoted text and comments. */
function tokensOf(text: string): string[] {
  const bare = text
    .replaceAll(/--[^\n]*/g, ' ')
    .replaceAll(/\/\*[\s\S]*?\*\//g, ' ')
    .replaceAll(/'[^']*'/g, " '' ");
  return bare.toLowerCase().match(/[a-z_][a-z0-9_.$]*|"[^"]*"|[^\s]/g) ?? [];
}

const isName = (token: string | null | undefined): token is string =>
  token != null && /^(?:[a-z_]|")/.test(token);

const nameOf = (token: string): string => token.replaceAll('"', '').replace(/^public\./, '');

/** Names that the text defines with `name as (` or `name (columns) as (`. */
function definedNames(tokens: readonly string[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [index, token] of tokens.entries()) {
    if (token !== 'as') continue;
    const next = tokens.slice(index + 1, index + 4).find((word) => word !== 'not' && word !== 'materialized');
    if (next !== '(') continue;
    let at = index - 1;
    if (tokens[at] === ')') while (at >= 0 && tokens[at] !== '(') at -= 1;
    const name = tokens[tokens[at] === '(' ? at - 1 : at];
    const before = tokens[(tokens[at] === '(' ? at - 1 : at) - 1];
    if (isName(name) && (before === 'with' || before === 'recursive' || before === ','))
      names.add(nameOf(name));
  }
  return names;
}

/** The position after the parenthesis that closes the one at `open`. */
function afterParenthesis(tokens: readonly string[], open: number): number {
  let depth = 0;
  for (let at = open; at < tokens.length; at += 1) {
    if (tokens[at] === '(') depth += 1;
    if (tokens[at] === ')') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return tokens.length;
}

/** One item of a from list (table, call, subquery or placeholder) with its alias. */
function readItem(
  tokens: readonly string[],
  start: number,
): { readonly name: string | null; readonly end: number } {
  let at = start;
  while (beforeName.has(tokens[at] ?? '')) at += 1;
  const token = tokens[at];
  let name: string | null = null;
  if (token === '(') {
    // Only the first table of `(a join b)`, because the join reports the second. A subquery has its own from.
    const inner = tokens[at + 1];
    if (isName(inner) && !startsQuery.has(inner)) name = inner;
    at = afterParenthesis(tokens, at);
  } else {
    if (isName(token) && tokens[at + 1] !== '(') name = token;
    at = tokens[at + 1] === '(' ? afterParenthesis(tokens, at + 1) : at + 1;
  }
  if (tokens[at] === 'as') at += 1;
  if (isName(tokens[at]) && !afterTable.has(tokens[at] ?? '')) {
    at = tokens[at + 1] === '(' ? afterParenthesis(tokens, at + 1) : at + 1;
  }
  return { name, end: at };
}

/** Names in the position of a table: after from, join, using, into, update, truncate and lock, and in from lists. */
export function tableUsesIn(text: string): readonly TableUse[] {
  const tokens = tokensOf(text);
  const defined = definedNames(tokens);
  const uses: TableUse[] = [];
  const add = (name: string | null | undefined, access: TableUse['access']): void => {
    if (isName(name) && !defined.has(nameOf(name))) uses.push({ name: nameOf(name), access });
  };
  for (const [index, keyword] of tokens.entries()) {
    if (writes.has(keyword)) {
      let at = index + 1;
      while (beforeName.has(tokens[at] ?? '')) at += 1;
      add(tokens[at], 'write');
    } else if (reads.has(keyword)) {
      const isDelete = keyword === 'from' && tokens[index - 1] === 'delete';
      let item = readItem(tokens, index + 1);
      add(item.name, isDelete ? 'write' : 'read');
      while (tokens[item.end] === ',' && keyword !== 'join') {
        item = readItem(tokens, item.end + 1);
        add(item.name, 'read');
      }
    }
  }
  return uses;
}
