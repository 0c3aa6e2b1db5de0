import type { Db } from '../db/index.ts';
import { gauge } from '../telemetry/index.ts';
import { countFailingItems, deleteStaleItems } from './loop-items.store.ts';

const failing = gauge(
  'millrace_loop_items_failing',
  'Items of a loop that failed and wait for their next attempt, by loop; every worker tells the same',
);

/** An item that was due for so long and that nothing has taken is gone. */
const STALE_MS = 7 * 86_400_000;

/** Reports how many items fail, and deletes those that are gone. Returns how many it deleted. */
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
