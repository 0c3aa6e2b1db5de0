import { Fault, issuesFromZod, type FaultIssue } from '@millrace/platform/fault';
import { droppedFields } from '@millrace/platform/http/ignored-fields';
import type { z } from 'zod';
import { findUnreadable } from './unreadable-text.ts';

/** A body that was read once: what it asks for, and the fields in it, also of its messages, that the contract does not know. */
export interface ParsedBody<Request> {
  readonly request: Request;
  /** For `X-Ignored-Fields`. They never reach an engine. */
  readonly ignored: readonly string[];
}

export type BodyReader<Request> = (body: unknown) => ParsedBody<Request>;

const noFields: readonly string[] = [];
const maxIgnored = 20;

/**
 * Makes the reader of an operation's body. `check` finds what the schema cannot say. A field that is null counts as left
 * out, as clients of such services expect. Throws `VALIDATION_FAILED` with all that is wrong.
 */
export function createBodyReader<Schema extends z.ZodType<object>>(
  schema: Schema,
  names: ReadonlySet<string>,
  check: (request: z.output<Schema>) => readonly FaultIssue[],
): BodyReader<z.output<Schema>> {
  return (body) => {
    const unreadable = findUnreadable(body);
    if (unreadable !== null) throw validationFault([unreadable], undefined, noFields);
    const input = withoutNulls(body);
    const parsed = schema.safeParse(input);
    if (!parsed.success) {
      const found = issuesFromZod(parsed.error, input);
      throw validationFault(found.issues, found.suggestion, unknownFields(input, names));
    }
    const issues = check(parsed.data);
    if (issues.length > 0) throw validationFault(issues, undefined, noFields);
    return { request: parsed.data, ignored: droppedFields(input, parsed.data) };
  };
}

function validationFault(
  issues: readonly FaultIssue[],
  suggestion: string | undefined,
  ignored: readonly string[],
): Fault {
  return new Fault('VALIDATION_FAILED', {
    issues,
    ...(suggestion === undefined ? {} : { suggestion }),
    // Often the field that is missing is there under a misspelt name.
    ...(ignored.length === 0 ? {} : { extra: { ignoredFields: ignored } }),
  });
}

function withoutNulls(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  if (!Object.values(body).includes(null)) return body;
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

function unknownFields(body: unknown, known: ReadonlySet<string>): readonly string[] {
  if (typeof body !== 'object' || body === null) return noFields;
  let unknown: string[] | null = null;
  for (const name in body) {
    if (known.has(name)) continue;
    unknown ??= [];
    if (unknown.length < maxIgnored) unknown.push(name);
  }
  return unknown ?? noFields;
}

/** The names that a schema of an object knows. */
export function fieldNamesOf(schema: { readonly shape: object }): ReadonlySet<string> {
  return new Set(Object.keys(schema.shape));
}
