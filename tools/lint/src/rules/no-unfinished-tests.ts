import { isIdentifier, isMember, propertyName } from '../ast.ts';
import type { Call, Member, Node, Rule } from '../ast.ts';

const message =
  'Tests must not use skip, only, todo or conditional runs. ' +
  'Fix the test, or delete it and open an issue for the case.';

const roots = new Set(['test', 'it', 'describe', 'suite']);
const unfinished = new Set(['skip', 'only', 'todo', 'skipIf', 'runIf', 'fails']);

function rootOf(node: Node): Node {
  let current = node;
  for (;;) {
    if (isMember(current)) current = current.object;
    else if (current.type === 'CallExpression') current = (current as Call).callee;
    else return current;
  }
}

/** A skipped test looks like a passing one, although its guarantee is not checked. */
export const noUnfinishedTests: Rule = {
  meta: { type: 'problem', docs: { description: 'no skipped, focused or announced tests' } },
  create(context) {
    return {
      MemberExpression(node: Member) {
        const name = propertyName(node);
        if (name === undefined || !unfinished.has(name)) return;
        const root = rootOf(node.object);
        if (isIdentifier(root) && roots.has(root.name)) context.report({ node, message });
      },
    };
  },
};
