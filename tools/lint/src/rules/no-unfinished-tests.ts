import { isIdentifier, isMember, propertyName } from '../ast.ts';
import type { Call, Member, Node, Rule } from '../ast.ts';

const message =
  'A test runs or is deleted: no skip, only, todo or conditional run. ' +
  'Mend it, or remove it and keep the case as an issue.';

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

/** A skipped test reads as green; the guarantee it names is gone and nobody is told. */
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
