import type { z } from 'zod';
import { Fault } from '../fault/index.ts';
import { findUnstorableValue } from './input/validate.ts';

/** A place in a list, as an opaque string that clients only ever hand back. */
export type Cursor = string;

/**
 * Packs a list position. It is encoded, not secret and not signed (docs/decisions/173-unsigned-cursors.md), so it may hold nothing
 * that decides what the caller may see.
 */
export function encodeCursor(position: Readonly<Record<string, string | number>>): Cursor {
  return Buffer.from(JSON.stringify(position), 'utf8').toString('base64url');
}

/** Unpacks what a client handed back; anything but a cursor of this list's shape is a 400. */
export function decodeCursor<S extends z.ZodType>(cursor: Cursor, shape: S): z.output<S> {
  const parsed = shape.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString('utf8')));
  // A cursor is only encoded, not signed: text in it that no statement could take is no cursor of ours.
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

/**
 * Makes a page from `limit + 1` rows in list order: the extra row only tells that there is a next page, and
 * the cursor is the position of the last row shown.
 */
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

/** The `Link` header of a bare-array list: the same request, one page on. `url` is the path with its query. */
export function linkNext(url: string, cursor: Cursor): string {
  const [path = '', query = ''] = url.split('?', 2);
  const search = new URLSearchParams(query);
  search.set('cursor', cursor);
  return `<${path}?${search.toString()}>; rel="next"`;
}
