import type { Db } from '@millrace/platform/db';
import { deleteOldCheckpoints } from './checkpoints.store.ts';
import { makePartitions } from './sink.store.ts';

const dayMs = 86_400_000;
/** From yesterday, for slow clocks, to a week ahead, in case all workers are down. */
const daysAhead = 9;
/** No lease lasts as long, so older checkpoints are never charged. */
const checkpointDays = 30;
const batch = 1_000;

/** Creates the partitions of the coming days and deletes old checkpoints. Concurrent workers are safe. */
export async function maintainUsageTables(db: Db): Promise<'busy' | 'idle'> {
  await makePartitions(db, new Date(db.clock.nowMs() - dayMs), daysAhead);
  const deleted = await db.transaction({ name: 'forget checkpoints', isolation: 'read committed' }, (tx) =>
    deleteOldCheckpoints(tx, new Date(tx.clock.nowMs() - checkpointDays * dayMs), batch),
  );
  return deleted >= batch ? 'busy' : 'idle';
}
