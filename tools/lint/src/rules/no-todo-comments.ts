import type { Rule } from '../ast.ts';

const message =
  'No TODO, FIXME, XXX or HACK in the tree. Finish it now, or open an issue and write here, in a whole ' +
  'sentence, why the code is as it is.';

const marker = /\b(?:TODO|FIXME|XXX|HACK)\b/;

/** A marker in a comment has no owner and no date; an issue has both. */
export const noTodoComments: Rule = {
  meta: { type: 'problem', docs: { description: 'no TODO, FIXME, XXX or HACK comments' } },
  create(context) {
    return {
      'Program:exit'() {
        for (const comment of context.sourceCode.getAllComments()) {
          if (marker.test(comment.value)) context.report({ node: comment, message });
        }
      },
    };
  },
};
