import { MillraceError } from './errors.ts';
import type { OperationEntry } from './operation-entry.ts';

/** Splits the input of a call into path, query and body. */

export type CallInput = Readonly<Record<string, unknown>>;

export interface EncodedRequest {
  readonly path: string;
  /** JSON, if the operation has a body. */
  readonly body: string | null;
}

export function encodeRequest(entry: OperationEntry, input: CallInput): EncodedRequest {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const path = entry.path.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const value = rest.get(name);
    rest.delete(name);
    return segment(name, value);
  });
  const query = new URLSearchParams();
  for (const [name, value] of rest) {
    if (entry.input === 'body' && entry.query?.includes(name) !== true) continue;
    appendTo(query, name, value);
    rest.delete(name);
  }
  const search = query.size === 0 ? '' : `?${query.toString()}`;
  const body = entry.input === 'body' ? JSON.stringify(Object.fromEntries(rest)) : null;
  return { path: `${path}${search}`, body };
}

/** Values such as `..` would change the path and reach another operation. */
function segment(name: string, value: unknown): string {
  const text = textOf(name, value);
  if (text === '' || text === '.' || text === '..') {
    throw new MillraceError(`${name} is required, but it is ${text === '' ? 'empty' : `"${text}"`}.`);
  }
  return encodeURIComponent(text);
}

function appendTo(query: URLSearchParams, name: string, value: unknown): void {
  if (value === null) return;
  if (Array.isArray(value)) {
    for (const one of value) appendTo(query, name, one);
    return;
  }
  query.append(name, textOf(name, value));
}

function textOf(name: string, value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      throw new MillraceError(
        value === undefined ? `${name} is required.` : `${name} must be text or a number.`,
      );
  }
}
