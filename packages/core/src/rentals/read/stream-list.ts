import { Readable } from 'node:stream';

/** A page of a list, and where the next one begins; null: this was the last. */
export interface ListPage<Item, Position> {
  readonly items: readonly Item[];
  readonly next: Position | null;
}

/**
 * All of a list as one JSON array, sent page by page: however long it is, no more than a page of it is held at a time. The
 * first page is read before the stream is handed out, so whatever is wrong by then is still refused properly.
 */
export async function streamList<Item, Position>(
  read: (after: Position | null) => Promise<ListPage<Item, Position>>,
): Promise<Readable> {
  const first = await read(null);
  return Readable.from(jsonChunksOf(first, read), { objectMode: false });
}

async function* jsonChunksOf<Item, Position>(
  first: ListPage<Item, Position>,
  read: (after: Position | null) => Promise<ListPage<Item, Position>>,
): AsyncGenerator<string> {
  let opening = '[';
  for (let page = first; ; page = await read(page.next)) {
    for (const item of page.items) {
      yield opening + JSON.stringify(item);
      opening = ',';
    }
    if (page.next === null) break;
  }
  yield opening === '[' ? '[]' : ']';
}
