import { Fault, issuesFromZod, type FaultIssue } from '@millrace/platform/fault';
import { droppedFields } from '@millrace/platform/http/ignored-fields';
import type { z } from 'zod';
import { findUnreadable } from './unreadable-text.ts';

/** A parsed request body and the fields in it that the contract does not define. */
export interface ParsedBody<Request> {
  readonly request: Request;
  /** For `X-Ignored-Fields`. These fields never reach an engine. */
  readonly ignored: readonly string[];
}

export type BodyReader<Request> = (body: unknown) => ParsedBody<Request>;

const noFields: readonly string[] = [];
const maxIgnored = 20;

/** `check` adds rules beyond the schema. Null fields count as absent, as OpenAI clients expect. */
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
    // A missing field is often present under a misspelt name.
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

export function fieldNamesOf(schema: { readonly shape: object }): ReadonlySet<string> {
  return new Set(Object.keys(schema.shape));
}
