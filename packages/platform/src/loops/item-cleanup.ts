import type { Db } from '../db/index.ts';
import { gauge } from '../telemetry/index.ts';
import { countFailingItems, deleteStaleItems } from './loop-items.store.ts';

const failing = gauge('millrace_loop_items_failing');

/** An item that was due for this long without being taken no longer exists. */
const STALE_MS = 7 * 86_400_000;

/** Reports the number of failing items, and deletes stale ones. Returns the number of deleted items. */
export function createItemCleanup(db: Db, limit: number): () => Promise<number> {
  const reportedLoops = new Set<string>();
  return async () => {
    const counts = new Map((await countFailingItems(db)).map(({ loop, items }) => [loop, items]));
    for (const loop of counts.keys()) reportedLoops.add(loop);
    for (const loop of reportedLoops) failing.record(counts.get(loop) ?? 0, { loop });
    return db.transaction({ name: 'forget items of loops', isolation: 'read committed' }, (tx) =>
      deleteStaleItems(tx, new Date(tx.clock.nowMs() - STALE_MS), limit),
    );
  };
}
