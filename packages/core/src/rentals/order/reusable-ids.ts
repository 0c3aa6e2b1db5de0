import { isFault } from '@millrace/platform/fault';
import type { WireIdAllocator } from '@millrace/platform/wire-ids';

/** Runs work with an unused id. Call `use` when the id is written to a row. */
export type WithId = <T>(work: (id: number, use: () => void) => Promise<T>) => Promise<T>;

/** A cell has about 30 million ids, and rejected orders are unlimited, so the ids of rejected orders are reused. */
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
      // A fault was rolled back. After any other error the id may be in a row.
      if (isFault(error)) spare.push(id);
      throw error;
    }
  };
}
