import type { z } from 'zod';
import type { FaultIssue } from './fault.ts';
import { nearestText } from './nearest-text.ts';

type ZodIssue = z.core.$ZodIssue;
type Location = NonNullable<FaultIssue['location']>;

/** More issues would not help, and would let a small hostile body cause a large response. */
const maxIssues = 20;
const maxListed = 40;
const maxRepeated = 8;

/** Converts zod's issues to messages that follow the field name. `input` shows whether a field is missing. */
export function issuesFromZod(
  error: { readonly issues: readonly ZodIssue[] },
  input: unknown,
  location: Location = 'body',
): { readonly issues: readonly FaultIssue[]; readonly suggestion: string | undefined } {
  const flat = error.issues.flatMap((issue) => flatten(issue, []));
  const shown = flat.slice(0, maxIssues);
  return {
    issues: shown.map((issue) => ({
      message: isMissing(issue, input) ? 'is required' : messageOf(issue),
      path: issue.path.map(toPathPart),
      code: issue.code,
      location,
    })),
    suggestion: suggestMissing(shown, input) ?? firstSuggestion(shown, input),
  };
}

/** A union reports the issues of each branch. The branch that matched best is likely the one that the caller meant. */
function flatten(issue: ZodIssue, above: readonly PropertyKey[]): ZodIssue[] {
  const path = [...above, ...issue.path];
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [{ ...issue, path }];
  const choice = choiceOf(issue.errors);
  if (choice !== null) return [{ ...choice, path }];
  const nearest = issue.errors.reduce((best, candidate) =>
    isBetterMatch(candidate, best) ? candidate : best,
  );
  return nearest.flatMap((inner) => flatten(inner, path));
}

type ValueIssue = Extract<ZodIssue, { readonly code: 'invalid_value' }>;

/** Merges branches that each list allowed values into one list. */
function choiceOf(branches: readonly (readonly ZodIssue[])[]): ValueIssue | null {
  const choices = branches.flatMap((branch) => branch.filter(isChoice));
  const [first] = choices;
  if (first === undefined || choices.length < branches.length) return null;
  return { ...first, values: choices.flatMap(({ values }) => values) };
}

function isChoice(issue: ZodIssue, _at: number, branch: readonly ZodIssue[]): issue is ValueIssue {
  return issue.code === 'invalid_value' && issue.path.length === 0 && branch.length === 1;
}

function isBetterMatch(candidate: readonly ZodIssue[], best: readonly ZodIssue[]): boolean {
  const depth = deepest(candidate) - deepest(best);
  return depth === 0 ? candidate.length < best.length : depth > 0;
}

/** A reduce instead of a spread: a hostile body can cause more issues than a call accepts arguments. */
function deepest(issues: readonly ZodIssue[]): number {
  return issues.reduce((depth, { path }) => Math.max(depth, path.length), 0);
}

function toPathPart(part: PropertyKey): string | number {
  return typeof part === 'symbol' ? String(part) : part;
}

function isMissing(issue: ZodIssue, input: unknown): boolean {
  if (issue.code !== 'invalid_type' && issue.code !== 'invalid_value') return false;
  const place = issue.path.slice(0, -1).reduce(childValue, input);
  return typeof place === 'object' && place !== null && valueAt(issue, input) === undefined;
}

function valueAt(issue: ZodIssue, input: unknown): unknown {
  return issue.path.reduce(childValue, input);
}

function childValue(value: unknown, part: PropertyKey): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Readonly<Record<PropertyKey, unknown>>)[part];
}

/** The prefixes of zod's own messages. Other messages come from the contract and stay. */
const standardMessage = /^(Invalid|Too small|Too big|Unrecognized)/;

function messageOf(issue: ZodIssue): string {
  if (!standardMessage.test(issue.message)) return issue.message;
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${typeWords[issue.expected] ?? `of type ${issue.expected}`}`;
    case 'too_small':
      return tooSmall(issue);
    case 'too_big':
      return tooBig(issue);
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_format':
      return formatWords[issue.format] ?? `must be a valid ${issue.format}`;
    case 'invalid_value':
      return issue.values.length === 1
        ? `must be ${list(issue.values)}`
        : `must be one of ${list(issue.values)}`;
    case 'unrecognized_keys':
      return `has unknown fields: ${issue.keys.slice(0, maxListed).join(', ')}`;
    case 'invalid_union': {
      const options = 'options' in issue ? (issue.options ?? []) : [];
      return options.length === 0 ? 'does not match any accepted format' : `must be one of ${list(options)}`;
    }
    case 'invalid_key':
    case 'invalid_element':
      return 'contains an invalid entry';
    case 'custom':
      return issue.message;
  }
}

const typeWords: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
  date: 'a date',
};

const formatWords: Readonly<Record<string, string>> = {
  regex: 'does not have the expected format',
  email: 'must be an email address',
  url: 'must be a URL',
  uuid: 'must be a UUID',
  datetime: 'must be an RFC 3339 date and time, such as 2026-01-31T12:00:00Z',
  date: 'must be a date, such as 2026-01-31',
  ipv4: 'must be an IPv4 address',
  ipv6: 'must be an IPv6 address',
  cidrv4: 'must be an IPv4 block, such as 10.0.0.0/8',
  cidrv6: 'must be an IPv6 block, such as 2001:db8::/32',
  base64: 'must be base64',
};

type Sized = { readonly origin: string; readonly inclusive?: boolean };

function tooSmall(issue: Sized & { readonly minimum: number | bigint }): string {
  if (issue.origin === 'string') {
    return issue.minimum === 1 ? 'must not be empty' : `must have at least ${issue.minimum} characters`;
  }
  if (isCounted(issue.origin)) return `must have at least ${entries(issue.minimum)}`;
  return issue.inclusive === false
    ? `must be more than ${issue.minimum}`
    : `must be ${issue.minimum} or more`;
}

function tooBig(issue: Sized & { readonly maximum: number | bigint }): string {
  if (issue.origin === 'string') return `must have at most ${issue.maximum} characters`;
  if (isCounted(issue.origin)) return `must have at most ${entries(issue.maximum)}`;
  return issue.inclusive === false
    ? `must be less than ${issue.maximum}`
    : `must be ${issue.maximum} or less`;
}

function entries(count: number | bigint): string {
  return Number(count) === 1 ? '1 entry' : `${count} entries`;
}

function isCounted(origin: string): boolean {
  return origin === 'array' || origin === 'set' || origin === 'map' || origin === 'object';
}

function list(values: readonly unknown[]): string {
  const shown = values
    .slice(0, maxListed)
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  return values.length > maxListed ? `${shown.join(', ')}, …` : shown.join(', ');
}

/** Names all missing fields in one sentence, so that the caller can add them at once. */
function suggestMissing(issues: readonly ZodIssue[], input: unknown): string | undefined {
  const names = issues.filter((issue) => isMissing(issue, input)).map(nameOf);
  if (names.length === 0) return undefined;
  return names.includes('') ? 'Send a JSON body.' : `Add ${listWithAnd(names)}.`;
}

function firstSuggestion(issues: readonly ZodIssue[], input: unknown): string | undefined {
  // With several issues, a suggestion must name its field.
  const alone = issues.length === 1;
  return issues.map((issue) => suggestionOf(issue, input, alone)).find((text) => text !== undefined);
}

function suggestionOf(issue: ZodIssue, input: unknown, alone: boolean): string | undefined {
  const subject = alone ? '' : `${nameOf(issue)}: `;
  if (issue.code === 'not_multiple_of' && typeof issue.divisor === 'number') {
    return `${subject}Use ${[1, 2, 3].map((times) => times * Number(issue.divisor)).join(', ')}, …`;
  }
  if (issue.code === 'invalid_value' && issue.values.length > 0) {
    const meant = nearestText(valueAt(issue, input), issue.values);
    if (meant !== undefined) return `${subject}Did you mean ${meant}?`;
    // The message already contains a long list.
    return issue.values.length > maxRepeated ? undefined : `${subject}Use ${list(issue.values)}.`;
  }
  if (issue.code === 'unrecognized_keys') return `Remove ${issue.keys.slice(0, maxListed).join(', ')}.`;
  return undefined;
}

function nameOf(issue: ZodIssue): string {
  return issue.path.map(String).join('.');
}

function listWithAnd(names: readonly string[]): string {
  const last = names.at(-1) ?? '';
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} and ${last}`;
}
