import { isGlobal } from '../ast.ts';
import type { Call, Node, Rule } from '../ast.ts';
import { growthOf, type Growth } from '../regexp/growth.ts';

interface RegExpLiteral extends Node {
  readonly regex?: { readonly pattern: string; readonly flags: string };
}

const remedy =
  'Untrusted text could block the whole process. Bound the repetition ({0,64}), exclude the following character from its ' +
  'character set, anchor the start of a run ((?<!=)=+$), or scan with indexOf.';

const built =
  'An expression that is built at run time cannot be checked for super-linear work. Write it as a literal, or explain in a ' +
  'disable comment why its components are safe.';

function messageOf(growth: Growth): string | null {
  switch (growth.kind) {
    case 'linear':
      return null;
    case 'unknown':
      return `This expression cannot be checked for super-linear work: ${growth.why} Write it without that part. ${remedy}`;
    case 'polynomial':
    case 'exponential':
      return `Matching this expression takes ${growth.kind} time, for instance on a long run of ${JSON.stringify(growth.repeat)}. ${remedy}`;
  }
}

/** Requires that the matching time grows at most linearly with the length of the text. */
export const linearRegexp: Rule = {
  meta: { type: 'problem', docs: { description: 'regular expressions take linear time' } },
  create(context) {
    const call = (node: Call): void => {
      if (!isGlobal(context, node.callee, 'RegExp')) return;
      const [pattern] = node.arguments;
      // A copied literal is checked where it is written.
      if ((pattern as RegExpLiteral | undefined)?.regex === undefined)
        context.report({ node, message: built });
    };
    return {
      Literal(node: RegExpLiteral) {
        if (node.regex === undefined) return;
        const message = messageOf(growthOf(node.regex.pattern, node.regex.flags));
        if (message !== null) context.report({ node, message });
      },
      CallExpression: call,
      NewExpression: call,
    };
  },
};
