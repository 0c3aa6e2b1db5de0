import { basename } from 'node:path';
import { isIdentifier } from '../ast.ts';
import type { Node, Rule, RuleContext } from '../ast.ts';
import { refusedWords } from '../refused-words.ts';

interface Named extends Node {
  readonly id?: Node | null;
  readonly key?: Node;
  readonly computed?: boolean;
}

interface WithParameters extends Named {
  readonly params: readonly (Node & { readonly left?: Node; readonly argument?: Node })[];
}

/** The words of a name in camel case, or of a file name with hyphens and dots. Names of SQL have underscores. */
export function wordsOf(name: string): string[] {
  if (/^[a-z].*_/.test(name)) return [];
  return name.split(/(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z]+/).map((word) => word.toLowerCase());
}

function refuse(context: RuleContext, node: Node, name: string): void {
  const word = wordsOf(name).find((part) => Object.hasOwn(refusedWords, part));
  if (word === undefined) return;
  const message =
    `The name "${name}" contains "${word}", which another engineer has to guess. ` +
    `Use a word of docs/glossary.md, for example: ${refusedWords[word] ?? ''}.`;
  context.report({ node, message });
}

/** Only where a name is chosen: a use of it, a key of an object literal and a quoted name repeat one that exists. */
export const glossaryWords: Rule = {
  meta: { type: 'problem', docs: { description: 'names use the words of the glossary' } },
  create(context) {
    const check = (node: Node | null | undefined): void => {
      if (isIdentifier(node)) refuse(context, node, node.name);
    };
    const declared = (node: Named): void => check(node.id);
    const member = (node: Named): void => {
      if (node.computed !== true) check(node.key);
    };
    const parameters = (node: WithParameters): void => {
      for (const parameter of node.params) check(parameter.left ?? parameter.argument ?? parameter);
    };
    const both = (node: WithParameters): void => {
      declared(node);
      parameters(node);
    };
    return {
      Program: (node: Node) => refuse(context, node, basename(context.filename)),
      VariableDeclarator: declared,
      ClassDeclaration: declared,
      TSInterfaceDeclaration: declared,
      TSTypeAliasDeclaration: declared,
      FunctionDeclaration: both,
      FunctionExpression: both,
      ArrowFunctionExpression: parameters,
      TSPropertySignature: member,
      TSMethodSignature: member,
      PropertyDefinition: member,
      MethodDefinition: member,
    };
  },
};
