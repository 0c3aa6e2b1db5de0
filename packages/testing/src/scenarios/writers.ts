import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { EventId, OrgId } from '@millrace/platform/ids';
import { appendTestEvent } from '../rows/events.ts';
import type { Random } from '../random.ts';

export interface WrittenEvents {
  readonly byOrg: ReadonlyMap<OrgId, ReadonlySet<EventId>>;
  /** Each writer's events for one organisation in the order of commits, which the feed must keep. */
  readonly sequences: readonly { readonly orgId: OrgId; readonly ids: readonly EventId[] }[];
  readonly total: number;
}

export interface WritersOptions {
  readonly db: Db;
  readonly random: Random;
  readonly orgIds: readonly OrgId[];
  readonly writers: number;
  readonly transactionsPerWriter: number;
  readonly maxCommitDelayMs: number;
}

class RolledBack extends Error {}

const MAX_EVENTS_PER_TRANSACTION = 3;
const ROLLBACK_PROBABILITY = 0.1;

/** Runs concurrent writers whose transactions stay open for a random time and sometimes roll back. */
export async function runWriters(options: WritersOptions): Promise<WrittenEvents> {
  const byOrg = new Map<OrgId, Set<EventId>>(options.orgIds.map((orgId) => [orgId, new Set()]));
  const sequences = new Map<string, { orgId: OrgId; ids: EventId[] }>();
  await Promise.all(
    Array.from({ length: options.writers }, async (_, writer) => {
      const random = options.random.fork(writer);
      for (let nth = 0; nth < options.transactionsPerWriter; nth += 1) {
        const orgId = random.pick(options.orgIds);
        const ids = await writeOnce(options, random, orgId, `w${writer}-${nth}`);
        const line = sequences.get(`${writer} ${orgId}`) ?? { orgId, ids: [] };
        line.ids.push(...ids);
        sequences.set(`${writer} ${orgId}`, line);
        for (const id of ids) byOrg.get(orgId)?.add(id);
      }
    }),
  );
  const total = [...byOrg.values()].reduce((sum, ids) => sum + ids.size, 0);
  return { byOrg, sequences: [...sequences.values()], total };
}

async function writeOnce(
  options: WritersOptions,
  random: Random,
  orgId: OrgId,
  name: string,
): Promise<EventId[]> {
  const count = random.int(1, MAX_EVENTS_PER_TRANSACTION);
  const delayMs = random.int(0, options.maxCommitDelayMs);
  const rollBack = random.chance(ROLLBACK_PROBABILITY);
  try {
    return await options.db.transaction({ name: 'write events', isolation: 'read committed' }, async (tx) => {
      const ids: EventId[] = [];
      for (let nth = 0; nth < count; nth += 1) {
        ids.push(await appendTestEvent(tx, orgId, { name: `${name}-${nth}` }));
      }
      // The delay is inside the transaction, so that the insertion order differs from the commit order.
      await systemClock.sleep(delayMs);
      if (rollBack) throw new RolledBack('on purpose');
      return ids;
    });
  } catch (error) {
    if (error instanceof RolledBack) return [];
    throw error;
  }
}
