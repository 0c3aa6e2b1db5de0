import path from 'node:path';
import { Program, walk, type Declaration, type TreeNode } from './declarations.ts';
import { ownedTables, tableGrants } from './table-owners.ts';
import { tableUsesIn } from './sql-tables.ts';

/** Derives the operations of a program on tables from the code that it can reach. */

export type Operation = 'select' | 'insert' | 'update' | 'delete' | 'truncate';

/** Operations by table. */
export type TableAccess = ReadonlyMap<string, ReadonlySet<Operation>>;

const allTables: ReadonlySet<string> = new Set(Object.values(ownedTables).flat());

const builderCalls: Readonly<Record<string, Operation>> = {
  insertInto: 'insert',
  updateTable: 'update',
  deleteFrom: 'delete',
};
const locks = /\bfor (?:no key )?update\b|\bfor (?:key )?share\b/;
const lockCalls = new Set(['forUpdate', 'forNoKeyUpdate', 'forShare', 'forKeyShare']);

class Access {
  readonly #tables = new Map<string, Set<Operation>>();

  add(table: string, ...operations: readonly Operation[]): void {
    if (!allTables.has(table)) return;
    const known = this.#tables.get(table) ?? new Set();
    // PostgreSQL reads the rows that it changes, and the condition of every change names columns.
    for (const operation of [...operations, 'select'] as const) known.add(operation);
    this.#tables.set(table, known);
  }

  has(table: string, operation: Operation): boolean {
    return this.#tables.get(table)?.has(operation) === true;
  }

  get tables(): TableAccess {
    return this.#tables;
  }
}

/** The operations of the program with this entry file, including those of the triggers that it fires. */
export function accessOf(root: string, entry: string, schema: string): TableAccess {
  const access = new Access();
  const declarations = new Program(root).reachableFrom(entry);
  for (const declaration of declarations) {
    const inFile = declarations.filter(({ file }) => file === declaration.file);
    addDeclaration(access, declaration, { file: path.relative(root, declaration.file), inFile });
  }
  addTriggers(access, schema);
  return access.tables;
}

interface DeclarationContext {
  /** Relative to the root. */
  readonly file: string;
  readonly inFile: readonly Declaration[];
}

function addDeclaration(access: Access, { nodes }: Declaration, { file, inFile }: DeclarationContext): void {
  // The sign-in library writes its tables with statements of its own.
  for (const { folder, tables } of tableGrants) {
    if (file !== 'packages/platform/src/auth/sign-in.ts' || tables === 'all') continue;
    if (folder !== 'packages/platform/src/auth') continue;
    for (const table of tables) access.add(table, 'insert', 'update', 'delete');
  }
  const found: { readonly table: string; readonly operation: Operation }[] = [];
  const texts: string[] = [];
  // Groups of settings have names such as `webhooks`, which are no tables.
  const fragments = new Set<string>();
  let hasLock = false;
  let hasConflictUpdate = false;
  walk(nodes, (node) => {
    if (node.type === 'CallExpression') {
      const name = calledName(node);
      if (name === 'fragment') fragments.add(stringsIn(node['arguments'])[0] ?? '');
      const operation = builderCalls[name];
      if (operation !== undefined) {
        const names = stringsIn(node['arguments']);
        // If the table is a variable, assume every name in this file.
        const named = names.length > 0 ? names : stringsIn(inFile.map((other) => other.nodes));
        for (const table of named) found.push({ table, operation });
      }
      hasLock ||= lockCalls.has(name);
      hasConflictUpdate ||= name === 'doUpdateSet';
    }
    if (node.type === 'TemplateLiteral') texts.push(textOf(node));
    if (node.type === 'StringLiteral') texts.push(String(node['value']));
  });
  for (const text of texts) {
    // Names of tables count as read: the arguments of selectFrom and join, and fragments that begin with a table.
    const [name = ''] = text.trim().split(/\s/);
    if (mayNameTables(file) && !fragments.has(name)) access.add(name);
    found.push(...operationsIn(text));
    hasLock ||= locks.test(text.toLowerCase());
    if (hasLock && allTables.has(name)) found.push({ table: name, operation: 'update' });
  }
  for (const { table, operation } of found) {
    access.add(table, operation);
    if (hasConflictUpdate && operation === 'insert') access.add(table, 'update');
    if (hasLock) access.add(table, 'update');
  }
}

/** Units of metrics have names such as `events`, which are no tables. */
function mayNameTables(file: string): boolean {
  if (file.startsWith('packages/platform/src/telemetry/')) return false;
  return file.endsWith('.store.ts') || file.startsWith('packages/platform/');
}

/** The operations of a SQL text. Other texts rarely name a table after such a keyword. */
export function operationsIn(
  text: string,
): readonly { readonly table: string; readonly operation: Operation }[] {
  const lower = text.toLowerCase().replaceAll(/\s+/g, ' ');
  const found: { table: string; operation: Operation }[] = [];
  const isLocking = locks.test(lower);
  for (const { name } of tableUsesIn(text))
    found.push({ table: name, operation: isLocking ? 'update' : 'select' });
  for (const [, verb = '', table = ''] of lower.matchAll(
    /\b(insert into|delete from|truncate(?: table)?|lock(?: table)?|(?<!\bfor )(?<!\bno key )(?<!\bdo )update)(?: only)? (?:public\.)?([a-z_][a-z0-9_]*)/g,
  )) {
    const operation = verb.startsWith('lock') ? 'update' : (verb.split(' ')[0] as Operation);
    found.push({ table, operation });
  }
  for (const [, table = ''] of lower.matchAll(
    /\binsert into (?:public\.)?([a-z_][a-z0-9_]*)(?:(?!\binsert into\b).)*?\bdo update\b/g,
  )) {
    found.push({ table, operation: 'update' });
  }
  return found;
}

interface TriggerFunction {
  readonly body: string;
  readonly isDefiner: boolean;
}

/** Triggers run with the rights of the session, unless their function has those of its owner. */
function addTriggers(access: Access, schema: string): void {
  const functions = new Map<string, TriggerFunction>();
  for (const text of schema.split('\nCREATE FUNCTION public.').slice(1)) {
    const name = text.slice(0, text.indexOf('('));
    const [body = ''] = text.split('\nCOMMENT ON FUNCTION ');
    functions.set(name, { body: body.slice(name.length), isDefiner: body.includes('SECURITY DEFINER') });
  }
  const triggers = [
    ...schema.matchAll(
      /CREATE (?:CONSTRAINT )?TRIGGER \w+ (?:BEFORE|AFTER) ([A-Z ,a-z_]+?) ON public\.(\w+)[\s\S]*?EXECUTE FUNCTION public\.(\w+)\(/g,
    ),
  ];
  for (let before = -1, after = 0; before !== after;) {
    before = after;
    for (const [, events = '', table = '', name = ''] of triggers) {
      const fires = (['insert', 'update', 'delete'] as const).some(
        (event) => events.toLowerCase().includes(event) && access.has(table, event),
      );
      if (fires) addFunction(access, name, functions);
    }
    after = [...access.tables.values()].reduce((sum, operations) => sum + operations.size, 0);
  }
}

function addFunction(access: Access, name: string, functions: ReadonlyMap<string, TriggerFunction>): void {
  const called = functions.get(name);
  if (called === undefined || called.isDefiner) return;
  for (const { table, operation } of operationsIn(called.body)) access.add(table, operation);
  for (const [, inner = ''] of called.body.matchAll(/\b(\w+)\(/g)) addFunction(access, inner, functions);
}

function calledName({ callee }: TreeNode): string {
  const { type, property, value } = (callee ?? {}) as TreeNode;
  if (type === 'Identifier') return String(value);
  return type === 'MemberExpression' ? String((property as TreeNode)['value']) : '';
}

/** Table names in the arguments of a builder call, without aliases. */
function stringsIn(argument: unknown): readonly string[] {
  const names: string[] = [];
  walk(argument, (node) => {
    if (node.type === 'StringLiteral') names.push(String(node['value']).split(' ')[0] ?? '');
  });
  return names;
}

function textOf(template: TreeNode): string {
  const quasis = template['quasis'] as readonly { readonly cooked?: string; readonly raw?: string }[];
  return quasis.map(({ cooked, raw }) => cooked ?? raw ?? '').join(' ? ');
}
