import { isGlobal, isMember, propertyName } from '../ast.ts';
import type { Call, Rule } from '../ast.ts';

const message =
  'Take the random source as an argument (`random = Math.random` as its default is fine; secrets come from ' +
  'node:crypto), so that a test or a simulation can replay a run by its seed.';

/** Only the call is refused: production passes Math.random as a default. */
export const injectedRandom: Rule = {
  meta: { type: 'problem', docs: { description: 'random numbers come from an injected source' } },
  create(context) {
    return {
      CallExpression(node: Call) {
        const { callee } = node;
        if (
          isMember(callee) &&
          propertyName(callee) === 'random' &&
          isGlobal(context, callee.object, 'Math')
        ) {
          context.report({ node, message });
        }
      },
    };
  },
};
