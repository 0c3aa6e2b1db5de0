import { isGlobal, propertyName } from '../ast.ts';
import type { ImportDeclaration, Member, Node, Rule } from '../ast.ts';

const message =
  'Only platform/config may read the environment. Declare the variable in a config fragment ' +
  "(`fragment('name', shape)` of @millrace/platform/config) and take the typed value as an argument.";

/** Other reads are not validated at start, so a typo would show as wrong behaviour hours later. */
export const envOnlyInConfig: Rule = {
  meta: { type: 'problem', docs: { description: 'only platform/config reads process.env' } },
  create(context) {
    return {
      MemberExpression(node: Member) {
        if (propertyName(node) === 'env' && isGlobal(context, node.object, 'process')) {
          context.report({ node, message });
        }
      },
      VariableDeclarator(node: Node & { id: Node; init: Node | null }) {
        if (isGlobal(context, node.init, 'process') && node.id.type === 'ObjectPattern') {
          context.report({ node, message });
        }
      },
      ImportDeclaration(node: ImportDeclaration) {
        if (node.source.value === 'node:process' || node.source.value === 'process') {
          context.report({ node, message });
        }
      },
    };
  },
};
