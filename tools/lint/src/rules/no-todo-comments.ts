import type { Rule } from '../ast.ts';

const message =
  'Comments must not contain TODO, FIXME, XXX or HACK. Finish the work, or open an issue and explain here, in a full ' +
  'sentence, why the code is as it is.';

const marker = /\b(?:TODO|FIXME|XXX|HACK)\b/;

/** An issue has an owner and a date; a marker in a comment has neither. */
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
