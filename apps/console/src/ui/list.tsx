import type { Page, PagePromise } from '@millrace/sdk';
import type { Millrace } from '@millrace/sdk';
import { useInfiniteQuery, type InfiniteData } from '@tanstack/react-query';
import type { LucideIcon } from 'lucide-react';
import { useDeferredValue, useMemo, type ReactNode } from 'react';
import type { ResourceName } from '../api/queries.ts';
import { useSession } from '../api/session.tsx';
import { Button } from './button.tsx';
import { TableSkeleton } from './skeleton.tsx';
import { EmptyState, Problem } from './states.tsx';
import { rowId, Table, type Column, type Identified, type Keyed } from './table.tsx';

/** Where a page starts; null for the first page. */
interface PageParam<Item> {
  readonly after: Page<Item>;
  readonly previous: PageParam<Item> | null;
}

/** The items of all pages. An item that did not change is the same object after a refresh, so its row is not rendered again. */
const selectItems = <Item,>({ pages }: InfiniteData<Page<Item>>): { readonly items: readonly Item[] } => ({
  items: pages.flatMap(({ items }) => [...items]),
});

/** Reads a paginated list. */
export function usePages<Item>(
  key: readonly [ResourceName, ...unknown[]],
  read: (client: Millrace, signal: AbortSignal) => PagePromise<Item>,
  options: {
    /** Poll interval, or a function of the items, so that settled items are not polled. */
    readonly refetchMs?: number | ((items: readonly Item[]) => number | false);
    readonly enabled?: boolean;
    /** Pages to keep, for lists with thousands of items: a refresh reads all kept pages, and the table shows all their rows. */
    readonly pagesMax?: number;
  } = {},
) {
  const { client, place } = useSession();
  const { refetchMs } = options;
  return useInfiniteQuery({
    queryKey: [place.organisationId, place.mode, ...key],
    initialPageParam: null as PageParam<Item> | null,
    queryFn: async ({ pageParam, signal }): Promise<Page<Item>> => {
      const next = pageParam === null ? await read(client, signal) : await pageParam.after.nextPage();
      if (next === null) throw new Error('The list has no next page.');
      return next;
    },
    getNextPageParam: (last: Page<Item>, _pages, param): PageParam<Item> | undefined =>
      last.nextCursor === null ? undefined : { after: last, previous: param },
    getPreviousPageParam: (_first, _pages, param) => (param === null ? undefined : param.previous),
    select: selectItems<Item>,
    ...(options.pagesMax !== undefined && { maxPages: options.pagesMax }),
    enabled: options.enabled ?? true,
    ...(refetchMs === undefined ? {} : { refetchInterval: intervalOf(refetchMs) }),
  });
}

interface PagedQuery<Item> {
  readonly state: { readonly data?: { readonly pages: readonly Page<Item>[] } | undefined };
}

function intervalOf<Item>(every: number | ((items: readonly Item[]) => number | false)) {
  if (typeof every === 'number') return every;
  return ({ state }: PagedQuery<Item>) => every((state.data?.pages ?? []).flatMap(({ items }) => items));
}

interface PagedTableProps<Item> {
  readonly pages: ReturnType<typeof usePages<Item>>;
  /** Plural noun, such as `rentals`. */
  readonly what: string;
  readonly caption: string;
  readonly columns: readonly Column<Item>[];
  /** Icon of the resource in the empty state. */
  readonly icon: LucideIcon;
  /** Title of the empty state, such as `No rentals yet`. */
  readonly empty: string;
  /** Purpose of the resource. */
  readonly hint?: ReactNode;
  /** First action, in the empty state. */
  readonly action?: ReactNode;
  /** Keeps the skeleton while something else that the rows need is loading. */
  readonly isWaiting?: boolean;
  /** Filters the loaded items in the browser. */
  readonly keep?: (item: Item) => boolean;
}

/** Paginated table with loading, empty, error and "show more" states. */
export function PagedTable<Item extends Identified>(props: PagedTableProps<Item>): ReactNode;
export function PagedTable<Item>(props: PagedTableProps<Item> & Keyed<Item>): ReactNode;
export function PagedTable<Item>(props: PagedTableProps<Item> & Partial<Keyed<Item>>) {
  const { pages, what, caption, columns, rowKey = rowId, icon, empty, hint, action, keep } = props;
  const { isWaiting = false } = props;
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = pages;
  const { hasPreviousPage, fetchPreviousPage, isFetchingPreviousPage } = pages;
  // Rendering hundreds of rows must not delay input.
  const items = useDeferredValue(data?.items);
  const rows = useMemo(
    () => (keep === undefined ? items : items?.filter((item) => keep(item))),
    [items, keep],
  );
  if (items === undefined || rows === undefined || isWaiting) {
    if (error === null || isWaiting) return <TableSkeleton what={what} columns={columns.length} />;
    return (
      <div className="p-4">
        <Problem error={error} doing={`load the ${what}`} retry={() => void refetch()} />
      </div>
    );
  }
  // A later page may contain matches.
  if (rows.length === 0 && !hasNextPage) {
    return (
      <EmptyState icon={icon} title={empty} action={action}>
        {hint}
      </EmptyState>
    );
  }
  const hidden = items.length - rows.length;
  return (
    <>
      {hasPreviousPage && (
        <div className="border-line flex justify-end border-b px-4 py-2">
          <Button
            size="small"
            busy={isFetchingPreviousPage && 'Loading earlier results…'}
            onClick={() => void fetchPreviousPage()}
          >
            Show earlier results
          </Button>
        </div>
      )}
      <Table caption={caption} columns={columns} rows={rows} rowKey={rowKey} />
      {error !== null && (
        <div className="p-4">
          <Problem error={error} doing={`load more ${what}`} retry={() => void fetchNextPage()} />
        </div>
      )}
      <div className="border-line text-soft flex items-center justify-between gap-2 border-t px-4 py-2 text-xs">
        <span>
          {hasNextPage
            ? `${rows.length === 1 ? '1 result' : `${String(rows.length)} results`}, more available`
            : `${rows.length === 1 ? '1 result' : `${String(rows.length)} results`}`}
          {hidden > 0 && `; ${String(hidden)} hidden`}
        </span>
        {hasNextPage && (
          <Button
            size="small"
            busy={isFetchingNextPage && 'Loading more…'}
            onClick={() => void fetchNextPage()}
          >
            Show more
          </Button>
        )}
      </div>
    </>
  );
}
