import type { Operation, Rule } from '../ast.ts';

const message =
  'Only platform/money may divide. Use a function of @millrace/platform/money that names its rounding ' +
  '(`divideRoundDown`, `divideRoundUp`, `divideHalfEven`) or a unit helper such as `msToSeconds`.';

/** Every division rounds. In one module each rounding has a name and a test; elsewhere it is accidental. */
export const divideOnlyInMoney: Rule = {
  meta: { type: 'problem', docs: { description: 'only platform/money divides' } },
  create(context) {
    return {
      BinaryExpression(node: Operation) {
        if (node.operator === '/') context.report({ node, message });
      },
      AssignmentExpression(node: Operation) {
        if (node.operator === '/=') context.report({ node, message });
      },
    };
  },
};
