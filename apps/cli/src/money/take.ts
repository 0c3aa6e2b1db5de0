/** The first items of a list, and whether there are more. Reads only the pages it needs. */
export async function take<Item>(
  items: AsyncIterable<Item>,
  limit: number,
): Promise<{ readonly items: Item[]; readonly more: boolean }> {
  const taken: Item[] = [];
  for await (const item of items) {
    if (taken.length >= limit) return { items: taken, more: true };
    taken.push(item);
  }
  return { items: taken, more: false };
}
