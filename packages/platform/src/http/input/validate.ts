import type { Operation } from '@millrace/contract';
import type { z } from 'zod';
import { Fault, issuesFromZod } from '../../fault/index.ts';
import type { FaultIssue } from '../../fault/index.ts';
import { nonDecimalNumbers } from './decimal-numbers.ts';
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

/** Validates path, query and body, and reports all issues of all parts at once. */
export function validateInput(operation: Operation, raw: RawInput): ValidInput {
  const issues: FaultIssue[] = [];
  const suggestions: string[] = [];
  const ignored: string[] = [];

  function check(schema: z.ZodType | undefined, input: unknown, location: Location): unknown {
    if (schema === undefined) {
      if (location === 'query') ignored.push(...droppedFields(input, {}));
      return {};
    }
    const unfit = findUnstorableValue(input);
    if (unfit !== null) {
      issues.push({ ...unfit, location });
      return undefined;
    }
    const odd = location === 'body' ? [] : nonDecimalNumbers(schema, input);
    if (odd.length > 0) {
      issues.push(...odd.map((name) => ({ ...nonDecimalMessage, path: [name], location })));
      return undefined;
    }
    const parsed = schema.safeParse(input);
    if (parsed.success) {
      ignored.push(...droppedFields(input, parsed.data));
      return parsed.data;
    }
    ignored.push(...unknownNames(schema, input));
    const found = issuesFromZod(parsed.error, input, location);
    issues.push(...found.issues);
    if (found.suggestion !== undefined) suggestions.push(found.suggestion);
    return undefined;
  }

  const params = check(operation.params, raw.params, 'path');
  const query = check(operation.query, raw.query, 'query');
  // The handler verifies the signature of a signed body before it parses the body.
  const body = operation.signedBody === true ? raw.body : check(operation.body, raw.body, 'body');
  if (issues.length === 0) return { params, query, body, ignoredFields: ignored };
  if (isMeantForOtherOperation(operation, raw.body)) throw new Fault(operation.misdirected.reason);
  const [suggestion] = suggestions;
  throw new Fault('VALIDATION_FAILED', {
    issues,
    ...(suggestion === undefined ? {} : { suggestion }),
    // A missing field may be present under a misspelt name.
    ...(ignored.length === 0 ? {} : { extra: { ignoredFields: ignored.slice(0, maxIgnoredNamed) } }),
  });
}

const nonDecimalMessage = {
  message: 'must be a whole number in decimal digits',
  code: 'invalid_format',
} as const;

const maxIgnoredNamed = 20;

/** Top-level fields that the schema does not know. A rejected input has no output to compare with. */
function unknownNames(schema: z.ZodType, input: unknown): string[] {
  if (typeof input !== 'object' || input === null || !('shape' in schema)) return [];
  const known = schema.shape as object;
  return Object.keys(input).filter((name) => !Object.hasOwn(known, name));
}

function isMeantForOtherOperation<Op extends Operation>(
  operation: Op,
  body: unknown,
): operation is Op & { readonly misdirected: NonNullable<Operation['misdirected']> } {
  if (operation.misdirected === undefined || typeof body !== 'object' || body === null) return false;
  return Object.keys(body).toSorted().join() === operation.misdirected.fields.toSorted().join();
}

/** Deeper than any body of the contract, and shallow enough for recursive functions. */
const maxDepth = 64;

/**
 * Finds the first value that cannot be processed regardless of the schema: text that PostgreSQL cannot store as text or
 * jsonb, or excessive nesting. Detected here it is a 400; later it would be a 500.
 */
export function findUnstorableValue(value: unknown, depth = 0): FaultIssue | null {
  if (typeof value === 'string') return isStorable(value) ? null : { ...unstorableText, path: [] };
  if (typeof value !== 'object' || value === null) return null;
  if (depth >= maxDepth) return { ...tooDeep, path: [] };
  for (const [name, item] of Object.entries(value)) {
    if (!isStorable(name)) return { ...unstorableText, path: [] };
    const below = findUnstorableValue(item, depth + 1);
    if (below !== null)
      return { ...below, path: [Array.isArray(value) ? Number(name) : name, ...below.path] };
  }
  return null;
}

const unstorableText = {
  message: 'contains a character that cannot be stored (NUL or half a surrogate pair)',
  code: 'invalid_text',
} as const;

const tooDeep = { message: `is nested more than ${maxDepth} levels deep`, code: 'too_deep' } as const;

function isStorable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}
