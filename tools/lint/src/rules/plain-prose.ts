import { isIdentifier, isMember } from '../ast.ts';
import type { Call, Comment, Node, Rule } from '../ast.ts';
import { proseProblems } from '../prose.ts';
import { storedTexts } from '../refused-words.ts';

interface Literal extends Node {
  readonly value?: unknown;
}

interface Template extends Node {
  readonly quasis: readonly { readonly value: { readonly cooked: string | null } }[];
}

const testFunctions = new Set(['describe', 'it', 'test']);
const directive = /^\s*(?:oxlint|eslint|@ts-|@vitest|prettier|#__PURE__)/;
const isTest = /\.(?:test|fixture|bench)\.tsx?$|\/fixture\.ts$|^tests\/|\/tests\//;

/** Shorter texts are keys, names and statuses. */
const isSentence = /[A-Za-z]+[,;:]?\s+\S+\s+\S/;
const isSqlOrScript =
  /^[\s(]*(?:(?:select|insert|update|delete|with|create|alter|drop|lock|begin|set|grant|revoke|truncate|notify|listen|vacuum|analyze|explain|local)\b|#!|-- )|\bredis\.call\(/i;

/** Word lists, for example for instance names, are data. */
const isWordList = /^\s*(?:[a-z]+\s+){20,}[a-z]*$/;

function isTestCall(node: Node): boolean {
  if (isMember(node)) return isTestCall(node.object);
  if (node.type === 'CallExpression') return isTestCall((node as Call).callee);
  return isIdentifier(node) && testFunctions.has(node.name);
}

function textOf(node: Node | undefined): string | undefined {
  if (node?.type === 'Literal' && typeof (node as Literal).value === 'string')
    return (node as Literal).value as string;
  if (node?.type !== 'TemplateLiteral') return undefined;
  return (node as Template).quasis.map((quasi) => quasi.value.cooked ?? '').join('x');
}

/** Checks comments, test titles and texts that users see. */
export const plainProse: Rule = {
  meta: { type: 'problem', docs: { description: 'prose is plain technical English' } },
  create(context) {
    if (context.filename.includes('.generated.')) return {};
    const inTest = isTest.test(context.filename);
    const check = (node: Node | Comment, text: string): void => {
      for (const problem of proseProblems(text)) {
        context.report({ node, message: `${problem} docs/glossary.md has the terms.` });
      }
    };
    const sentence = (node: Node): void => {
      if (inTest || node.parent?.type === 'TaggedTemplateExpression') return;
      const text = textOf(node);
      if (text === undefined || storedTexts.has(text)) return;
      if (isSentence.test(text) && !isSqlOrScript.test(text) && !isWordList.test(text)) check(node, text);
    };
    return {
      'Program:exit'() {
        for (const comment of context.sourceCode.getAllComments()) {
          if (!directive.test(comment.value)) check(comment, comment.value.replaceAll(/^\s*\* ?/gm, ''));
        }
      },
      CallExpression(node: Call) {
        const [title] = node.arguments;
        const text = isTestCall(node.callee) ? textOf(title) : undefined;
        if (title && text !== undefined && inTest) check(title, text);
      },
      JSXText(node: Literal) {
        if (typeof node.value === 'string') check(node, node.value);
      },
      Literal: sentence,
      TemplateLiteral: sentence,
    };
  },
};
