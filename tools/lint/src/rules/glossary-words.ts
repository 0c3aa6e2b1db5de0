import { basename } from 'node:path';
import { isIdentifier } from '../ast.ts';
import type { Node, Rule, RuleContext } from '../ast.ts';
import { fieldTerms, refusedWords } from '../refused-words.ts';
import { storedNames } from '../stored-names.generated.ts';

interface Named extends Node {
  readonly id?: Pattern | null;
  readonly key?: Node;
  readonly computed?: boolean;
  readonly name?: Node;
}

/** A name or a destructuring pattern. */
interface Pattern extends Node {
  readonly left?: Pattern;
  readonly argument?: Pattern;
  readonly value?: Pattern;
  readonly properties?: readonly Pattern[];
  readonly elements?: readonly (Pattern | null)[];
}

interface Specifier extends Node {
  readonly local: Node;
  readonly exported?: Node;
}

interface WithParameters extends Named {
  readonly params: readonly Pattern[];
}

interface PrivateName extends Node {
  readonly type: 'PrivateIdentifier';
  readonly name: string;
}

function isPrivateName(node: Node | null | undefined): node is PrivateName {
  return node?.type === 'PrivateIdentifier';
}

/** The words of a camel-case name, or of a file name with hyphens and dots. SQL names have underscores and are skipped. */
export function wordsOf(name: string): string[] {
  if (/^[a-z].*_/.test(name)) return [];
  return name.split(/(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z]+/).map((word) => word.toLowerCase());
}

function refusedWordIn(name: string): string | undefined {
  const words = wordsOf(name);
  return words.find(
    (word, at) => Object.hasOwn(refusedWords, word) && !fieldTerms.has(`${words[at - 1]} ${word}`),
  );
}

function refuse(context: RuleContext, node: Node, name: string): void {
  const word = refusedWordIn(name);
  if (word === undefined) return;
  const message =
    `The name "${name}" contains "${word}", which another engineer has to guess. ` +
    `Use a word of docs/glossary.md, for example: ${refusedWords[word] ?? ''}.`;
  context.report({ node, message });
}

/** Checks only declarations: uses, keys of object literals and quoted names repeat an existing name. */
export const glossaryWords: Rule = {
  meta: { type: 'problem', docs: { description: 'names use the words of the glossary' } },
  create(context) {
    // Generated files repeat names of SQL and of the API.
    if (context.filename.includes('.generated.')) return {};
    const check = (node: Node | null | undefined): void => {
      if (isIdentifier(node) || isPrivateName(node)) refuse(context, node, node.name);
    };
    const pattern = (node: Pattern | null | undefined): void => {
      if (node === null || node === undefined) return;
      const inner = node.left ?? node.argument ?? node.value;
      if (inner !== undefined) return pattern(inner);
      for (const each of node.properties ?? node.elements ?? []) pattern(each);
      check(node);
    };
    const declared = (node: Named): void => pattern(node.id);
    const member = (node: Named): void => {
      const { key } = node;
      if (node.computed !== true && !(isIdentifier(key) && storedNames.has(key.name))) check(key);
    };
    const parameters = (node: WithParameters): void => {
      for (const parameter of node.params) pattern(parameter);
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
      TSTypeParameter: (node: Named) => check(node.name),
      ImportSpecifier: (node: Specifier) => check(node.local),
      ExportSpecifier: (node: Specifier) => check(node.exported),
      FunctionDeclaration: both,
      FunctionExpression: both,
      ArrowFunctionExpression: parameters,
      TSFunctionType: parameters,
      TSPropertySignature: member,
      TSMethodSignature: (node: WithParameters) => {
        member(node);
        parameters(node);
      },
      PropertyDefinition: member,
      MethodDefinition: member,
    };
  },
};
