import type { Db } from '@millrace/platform/db';
import { deleteOldCheckpoints } from './checkpoints.store.ts';
import { makePartitions } from './sink.store.ts';

const dayMs = 86_400_000;
/** From yesterday, for clocks that are behind, to a week ahead: as long as all workers may be away. */
const daysAhead = 9;
/** No lease lives as long, so nobody will ask for them any more. */
const checkpointDays = 30;
const batch = 1_000;

/** Makes the partitions of the coming days and forgets what no request needs. Any number of workers may try at once; one makes the partitions. */
export async function maintainUsageTables(db: Db): Promise<'busy' | 'idle'> {
  await makePartitions(db, new Date(db.clock.nowMs() - dayMs), daysAhead);
  const deleted = await db.transaction({ name: 'forget checkpoints', isolation: 'read committed' }, (tx) =>
    deleteOldCheckpoints(tx, new Date(tx.clock.nowMs() - checkpointDays * dayMs), batch),
  );
  return deleted >= batch ? 'busy' : 'idle';
}
