import type { z } from 'zod';
import { Fault } from '../fault/index.ts';
import { findUnstorableValue } from './input/validate.ts';

/** A position in a list, as an opaque string for clients. */
export type Cursor = string;

/**
 * Packs a list position. It is neither secret nor signed (docs/decisions/173-unsigned-cursors.md), so it must not decide
 * access.
 */
export function encodeCursor(position: Readonly<Record<string, string | number>>): Cursor {
  return Buffer.from(JSON.stringify(position), 'utf8').toString('base64url');
}

/** Unpacks a cursor from a client. Anything except a cursor of this list is a 400. */
export function decodeCursor<S extends z.ZodType>(cursor: Cursor, shape: S): z.output<S> {
  const parsed = shape.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString('utf8')));
  // A client can forge a cursor, so reject text that PostgreSQL cannot store.
  if (parsed.success && findUnstorableValue(parsed.data) === null) return parsed.data;
  throw new Fault('INVALID_CURSOR', {
    issues: [{ message: 'is not a cursor of this list', path: ['cursor'], code: 'invalid_cursor' }],
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export interface Page<Item> {
  readonly items: Item[];
  readonly nextCursor: Cursor | null;
}

/** Builds a page from `limit + 1` rows. The extra row shows that a next page exists. */
export function toPage<Row, Item>(options: {
  readonly rows: readonly Row[];
  readonly limit: number;
  readonly toItem: (row: Row) => Item;
  readonly positionOf: (row: Row) => Readonly<Record<string, string | number>>;
}): Page<Item> {
  const shown = options.rows.slice(0, options.limit);
  const last = shown.at(-1);
  const more = options.rows.length > options.limit && last !== undefined;
  return {
    items: shown.map(options.toItem),
    nextCursor: more ? encodeCursor(options.positionOf(last)) : null,
  };
}

/** The `Link` header of a list without an envelope. `url` is the path with its query. */
export function linkNext(url: string, cursor: Cursor): string {
  const [path = '', query = ''] = url.split('?', 2);
  const search = new URLSearchParams(query);
  search.set('cursor', cursor);
  return `<${path}?${search.toString()}>; rel="next"`;
}
