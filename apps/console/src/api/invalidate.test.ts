import { InfiniteQueryObserver, QueryClient } from '@tanstack/react-query';
import { expect, it, onTestFinished } from 'vitest';
import { invalidate } from './invalidate.ts';

/** A list whose requests wait until the test completes them. */
function watchList() {
  const cache = new QueryClient();
  const requests: { readonly page: number; readonly complete: () => void }[] = [];
  const observer = new InfiniteQueryObserver(cache, {
    queryKey: ['org_1', 'live', 'rentals'],
    initialPageParam: 1,
    queryFn: async ({ pageParam }) =>
      new Promise<number>((resolve) => {
        requests.push({ page: pageParam, complete: () => resolve(pageParam) });
      }),
    getNextPageParam: (last: number) => last + 1,
  });
  onTestFinished(observer.subscribe(() => undefined));
  const complete = async (page: number): Promise<void> => {
    await expect.poll(() => requests[0]?.page).toBe(page);
    requests.shift()?.complete();
  };
  const pages = (): readonly number[] => observer.getCurrentResult().data?.pages ?? [];
  return { cache, observer, complete, pages };
}

it('a change keeps the page that the user loads, and reads the list again after it', async () => {
  const { cache, observer, complete, pages } = watchList();
  await complete(1);
  await expect.poll(pages).toEqual([1]);
  void observer.fetchNextPage();
  const isRead = invalidate(cache, ['org_1', 'live', 'rentals']);
  await complete(2);
  await expect.poll(pages).toEqual([1, 2]);
  await complete(1);
  await complete(2);
  await isRead;
  expect(pages()).toEqual([1, 2]);
});

it('a change reads a list again at once if it loads no page', async () => {
  const { cache, complete, pages } = watchList();
  await complete(1);
  await expect.poll(pages).toEqual([1]);
  const isRead = invalidate(cache, ['org_1', 'live']);
  await complete(1);
  await isRead;
  expect(pages()).toEqual([1]);
});
