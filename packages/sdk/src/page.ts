import { ApiPromise } from './api-promise.ts';
import type { PendingRequest } from './api-promise.ts';
import { MillraceError } from './errors.ts';
import type { ListShape } from './operation-entry.ts';

/** One page of a list. Iterating over it continues through all later pages. */
export class Page<Item, Output = unknown> implements AsyncIterable<Item> {
  readonly items: readonly Item[];
  /** The original response. */
  readonly response: Output;
  /** The cursor of the next page; null on the last page. */
  readonly nextCursor: string | null;
  readonly #fetchPage: (cursor: string) => Promise<Page<Item, Output>>;

  constructor(options: {
    readonly items: readonly Item[];
    readonly response: Output;
    readonly nextCursor: string | null;
    readonly fetchPage: (cursor: string) => Promise<Page<Item, Output>>;
  }) {
    this.items = options.items;
    this.response = options.response;
    this.nextCursor = options.nextCursor;
    this.#fetchPage = options.fetchPage;
  }

  /** The next page, or null after the last. */
  async nextPage(): Promise<Page<Item, Output> | null> {
    if (this.nextCursor === null) return null;
    const next = await this.#fetchPage(this.nextCursor);
    if (next.nextCursor === this.nextCursor) {
      throw new MillraceError('The list returned its own cursor as the next page.');
    }
    return next;
  }

  /** This page and all later ones. */
  async *pages(): AsyncGenerator<Page<Item, Output>, void, undefined> {
    yield this;
    for (let page = await this.nextPage(); page !== null; page = await page.nextPage()) yield page;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) yield* page.items;
  }
}

/** The promise of a list: await it for its first page, or iterate over all items. */
export class PagePromise<Item, Output = unknown>
  extends ApiPromise<Page<Item, Output>>
  implements AsyncIterable<Item>
{
  constructor(sending: PendingRequest<Page<Item, Output>>) {
    super(sending);
  }

  async *pages(): AsyncGenerator<Page<Item, Output>, void, undefined> {
    yield* (await this).pages();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    yield* await this;
  }

  /** All items, at most `max`. */
  async all({ max = Number.POSITIVE_INFINITY }: { readonly max?: number } = {}): Promise<Item[]> {
    const items: Item[] = [];
    if (max <= 0) return items;
    for await (const item of this) {
      items.push(item);
      if (items.length >= max) break;
    }
    return items;
  }
}

/** The items of a response and the cursor of the next page. */
export function readList(
  shape: ListShape,
  response: unknown,
  headers: Headers,
): { readonly items: readonly unknown[]; readonly nextCursor: string | null } {
  const fields: Readonly<Record<string, unknown>> =
    typeof response === 'object' && response !== null ? (response as Record<string, unknown>) : {};
  const items = shape.items === undefined ? response : fields[shape.items];
  if (!Array.isArray(items)) throw new MillraceError('The response is not a list.');
  return { items, nextCursor: nextOf(shape, fields, headers) };
}

function nextOf(
  shape: ListShape,
  fields: Readonly<Record<string, unknown>>,
  headers: Headers,
): string | null {
  if (shape.next === undefined) return null;
  const next = shape.next === 'link' ? cursorOfLink(headers.get('link')) : fields[shape.next];
  return typeof next === 'string' && next !== '' ? next : null;
}

/** Uses only the cursor of `Link: <…?cursor=…>; rel="next"`, because the client knows the address itself. */
export function cursorOfLink(link: string | null): string | null {
  if (link === null) return null;
  for (const [, target = '', attributes = ''] of link.matchAll(/<([^<>]*)>([^,<]*)/g)) {
    if (!attributes.split(';').some(isNextRelation)) continue;
    return new URLSearchParams(target.slice(target.indexOf('?') + 1)).get('cursor');
  }
  return null;
}

function isNextRelation(attribute: string): boolean {
  const [name = '', value = ''] = attribute.split('=', 2).map((part) => part.trim());
  return name.toLowerCase() === 'rel' && value.replaceAll('"', '').split(/\s+/).includes('next');
}
