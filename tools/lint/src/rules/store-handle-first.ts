import { isIdentifier } from '../ast.ts';
import type { Node, Rule } from '../ast.ts';

const message =
  'A store function takes the handle as its required first argument: `tx: Tx` to write, `reader: Reader` to ' +
  'read. With an optional or hidden handle, a statement could run outside its transaction.';

interface Parameter extends Node {
  readonly optional?: boolean;
  readonly typeAnnotation?: { readonly typeAnnotation: { readonly typeName?: Node } } | null;
}

interface FunctionDeclaration extends Node {
  readonly async: boolean;
  readonly params: readonly Parameter[];
}

const handles = new Set(['Tx', 'Reader', 'Db']);

function takesHandle(parameter: Parameter | undefined): boolean {
  if (!isIdentifier(parameter) || (parameter as Parameter).optional === true) return false;
  const typeName = (parameter as Parameter).typeAnnotation?.typeAnnotation.typeName;
  return isIdentifier(typeName) && handles.has(typeName.name);
}

/** Checks exported async functions, which are the queries. Mapping helpers are synchronous. */
export const storeHandleFirst: Rule = {
  meta: { type: 'problem', docs: { description: 'store functions take the database handle first' } },
  create(context) {
    return {
      ExportNamedDeclaration(node: Node & { declaration: Node | null }) {
        const { declaration } = node;
        if (declaration?.type !== 'FunctionDeclaration') return;
        const query = declaration as FunctionDeclaration;
        if (query.async && !takesHandle(query.params[0])) context.report({ node: declaration, message });
      },
    };
  },
};
