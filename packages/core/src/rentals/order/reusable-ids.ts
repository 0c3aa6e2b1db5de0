import { isFault } from '@millrace/platform/fault';
import type { WireIdAllocator } from '@millrace/platform/wire-ids';

/** Work with an id that nobody has. `use` is called where it ends up in a row. */
export type WithId = <T>(work: (id: number, use: () => void) => Promise<T>) => Promise<T>;

/**
 * Ids are taken before the transaction that uses them, so an order that is refused has one already. There are only some
 * thirty million in a cell, and whoever is refused may ask for ever: what was not used goes to the next who asks.
 */
export function createIdReuse(ids: WireIdAllocator): WithId {
  const spare: number[] = [];
  return async (work) => {
    const id = spare.pop() ?? (await ids.next());
    let isUsed = false;
    try {
      const result = await work(id, () => {
        isUsed = true;
      });
      if (!isUsed) spare.push(id);
      return result;
    } catch (error) {
      // A refusal was rolled back. Of every other end nobody can say whether the id is in a row by now.
      if (isFault(error)) spare.push(id);
      throw error;
    }
  };
}
