import { isIdentifier, isMember, propertyName } from '../ast.ts';
import type { Call, Node, Rule } from '../ast.ts';
import { tableUsesIn } from '../sql-tables.ts';
import { mayUse, ownerOf } from '../table-owners.ts';

interface Literal extends Node {
  readonly value?: unknown;
}

interface TemplateLiteral extends Node {
  readonly quasis: readonly { readonly value: { readonly cooked: string | null; readonly raw: string } }[];
}

interface TaggedTemplate extends Node {
  readonly tag: Node;
  readonly quasi: TemplateLiteral;
}

const reads = new Set([
  ...['selectFrom', 'from', 'using', 'table'],
  ...['innerJoin', 'leftJoin', 'rightJoin', 'fullJoin', 'crossJoin'],
  ...['innerJoinLateral', 'leftJoinLateral', 'crossJoinLateral'],
]);
const writes = new Set(['insertInto', 'updateTable', 'deleteFrom', 'mergeInto', 'replaceInto']);

/** The folder of the feature. The fixtures mirror the tree, so the last match in the path counts. */
function folderOf(filename: string): string | undefined {
  const path = filename.replaceAll('\\', '/');
  return [...path.matchAll(/(?:^|\/)((?:packages\/[^/]+\/src|apps)\/[^/]+)(?=\/)/g)].at(-1)?.[1];
}

const textOf = (template: TemplateLiteral): string =>
  template.quasis.map(({ value }) => value.cooked ?? value.raw).join(' ? ');

function messageFor(table: string): string {
  return (
    `The table ${table} belongs to ${ownerOf(table) ?? ''} (tools/lint/src/table-owners.ts). Call a store function of that ` +
    'feature through its index with the same handle, or compose a SQL fragment that it exports.'
  );
}

/** A feature uses only its own tables, in query builder calls and in SQL text of stores and sql templates. */
export const ownTablesOnly: Rule = {
  meta: { type: 'problem', docs: { description: 'a store touches only the tables of its own feature' } },
  create(context) {
    const folder = folderOf(context.filename);
    if (folder === undefined) return {};
    const isStore = context.filename.endsWith('.store.ts');
    const check = (node: Node, table: string, access: 'read' | 'write'): void => {
      if (!mayUse(folder, table, access)) context.report({ node, message: messageFor(table) });
    };
    const checkText = (node: Node, text: string): void => {
      for (const { name, access } of tableUsesIn(text)) check(node, name, access);
    };
    const checkArgument = (argument: Node | undefined, access: 'read' | 'write'): void => {
      if (argument?.type === 'ArrayExpression') {
        for (const element of (argument as Node & { elements: readonly Node[] }).elements) {
          checkArgument(element, access);
        }
      }
      const { value } = (argument ?? {}) as Literal;
      if (argument === undefined || typeof value !== 'string') return;
      const [name = ''] = value.split(' ');
      check(argument, name.replace(/^public\./, ''), access);
    };
    return {
      CallExpression(node: Call) {
        const method = isMember(node.callee) ? propertyName(node.callee) : undefined;
        const name = method ?? (isIdentifier(node.callee) ? node.callee.name : '');
        if (writes.has(name)) checkArgument(node.arguments[0], 'write');
        else if (reads.has(name)) checkArgument(node.arguments[0], 'read');
      },
      TaggedTemplateExpression(node: TaggedTemplate) {
        if (!isStore && isIdentifier(node.tag, 'sql')) checkText(node, textOf(node.quasi));
      },
      TemplateLiteral(node: TemplateLiteral) {
        if (isStore) checkText(node, textOf(node));
      },
      Literal(node: Literal) {
        if (isStore && typeof node.value === 'string') checkText(node, node.value);
      },
    };
  },
};
