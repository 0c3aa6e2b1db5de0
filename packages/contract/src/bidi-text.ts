import type { z } from 'zod';

/**
 * Refuses characters that change the direction of text, because they make one name look like another. Responses
 * use the plain schema: stored names may be older than this rule.
 */
export function withoutBidiControls<Schema extends z.ZodType<string>>(schema: Schema): Schema {
  return schema.refine(
    (text) => !/\p{Bidi_Control}/u.test(text),
    'must not contain characters that change the direction of text, such as U+202E',
  );
}
