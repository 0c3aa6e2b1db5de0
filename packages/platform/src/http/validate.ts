import type { Operation } from '@millrace/contract';
import type { z } from 'zod';
import { Fault, issuesFromZod } from '../fault/index.ts';
import type { FaultIssue } from '../fault/index.ts';
import { droppedFields } from './ignored-fields.ts';

export interface RawInput {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

export interface ValidInput {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly ignoredFields: readonly string[];
}

type Location = NonNullable<FaultIssue['location']>;

/** Checks every part and reports all that is wrong with all of them at once. */
export function validateInput(operation: Operation, raw: RawInput): ValidInput {
  const issues: FaultIssue[] = [];
  const suggestions: string[] = [];
  const ignored: string[] = [];

  function check(schema: z.ZodType | undefined, input: unknown, location: Location): unknown {
    if (schema === undefined) {
      if (location === 'query') ignored.push(...droppedFields(input, {}));
      return {};
    }
    const unstorable = findUnstorableText(input);
    if (unstorable !== null) {
      issues.push({
        message: 'holds a character that cannot be stored (NUL or half a surrogate pair)',
        path: unstorable,
        code: 'invalid_text',
        location,
      });
      return undefined;
    }
    const parsed = schema.safeParse(input);
    if (parsed.success) {
      ignored.push(...droppedFields(input, parsed.data));
      return parsed.data;
    }
    const found = issuesFromZod(parsed.error, input, location);
    issues.push(...found.issues);
    if (found.suggestion !== undefined) suggestions.push(found.suggestion);
    return undefined;
  }

  const params = check(operation.params, raw.params, 'path');
  const query = check(operation.query, raw.query, 'query');
  const body = check(operation.body, raw.body, 'body');
  if (issues.length === 0) return { params, query, body, ignoredFields: ignored };
  const [suggestion] = suggestions;
  throw new Fault('VALIDATION_FAILED', { issues, ...(suggestion === undefined ? {} : { suggestion }) });
}

const maxDepth = 64;

/**
 * Where a text hides that PostgreSQL cannot hold, neither as text nor inside jsonb; null when there is none.
 * Found here it is the caller's mistake; found by the database it would look like ours.
 */
export function findUnstorableText(value: unknown, depth = 0): readonly (string | number)[] | null {
  if (typeof value === 'string') return isStorable(value) ? null : [];
  if (typeof value !== 'object' || value === null || depth > maxDepth) return null;
  for (const [name, item] of Object.entries(value)) {
    if (!isStorable(name)) return [];
    const below = findUnstorableText(item, depth + 1);
    if (below !== null) return [Array.isArray(value) ? Number(name) : name, ...below];
  }
  return null;
}

function isStorable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}
