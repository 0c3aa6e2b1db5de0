import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { streamList } from './stream-list.ts';

const pagesOf =
  (items: readonly number[], size: number) =>
  async (after: number | null): Promise<{ items: readonly number[]; next: number | null }> => {
    const from = after ?? 0;
    const next = from + size;
    return { items: items.slice(from, next), next: next < items.length ? next : null };
  };

it.each([
  [0, 3],
  [1, 3],
  [3, 3],
  [7, 3],
])('streamList sends %i items in pages of %i as one array', async (count, size) => {
  const items = Array.from({ length: count }, (_, index) => index);
  expect(JSON.parse(await text(await streamList(pagesOf(items, size))))).toEqual(items);
});

it('streamList rejects if the first page fails, and ends the stream if a later one does', async () => {
  const broken = async (): Promise<never> => Promise.reject(new Error('gone'));
  await expect(streamList(broken)).rejects.toThrow('gone');
  const first = { items: [1], next: 1 };
  const stream = await streamList((after: number | null) =>
    after === null ? Promise.resolve(first) : broken(),
  );
  await expect(text(stream)).rejects.toThrow('gone');
});
