import { Readable } from 'node:stream';

/** A page of a list and the position of the next one; null after the last page. */
export interface ListPage<Item, Position> {
  readonly items: readonly Item[];
  readonly next: Position | null;
}

/** Holds one page in memory at a time. Reads the first page at once, so that its errors get a status code. */
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
