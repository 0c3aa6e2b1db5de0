import type { z } from 'zod';

/**
 * A name as it comes in. Characters that change the direction of text are refused: with one, a name can look like another.
 * Answers use the plain schema, since stored names may be older than this rule.
 */
export function withoutBidiControls<Schema extends z.ZodType<string>>(schema: Schema): Schema {
  return schema.refine(
    (text) => !/\p{Bidi_Control}/u.test(text),
    'must not hold characters that change the direction of text, such as U+202E',
  );
}
