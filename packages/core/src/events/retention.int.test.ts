import { createTestDatabase, appendTestEvent, testIds } from '@millrace/testing';
import type { OrgId } from '@millrace/platform/ids';
import { afterAll, describe, expect, test } from 'vitest';
import { deleteExpiredEvents, getFeedHead, listEventsAfter } from './events.store.ts';
import { moveEvents } from './outbox.store.ts';
import { createShardLeases } from './shard-leases.ts';

const database = await createTestDatabase();

afterAll(() => database.drop());

async function query(text: string): Promise<void> {
  await database.query(text);
}

async function storeEvents(orgId: OrgId, count: number): Promise<void> {
  const leases = createShardLeases({ db: database.db, holder: 'only', ttlMs: 60_000 });
  await leases.keep();
  for (let nth = 1; nth <= count; nth += 1) {
    await database.db.transaction({ name: 'write', isolation: 'read committed' }, (tx) =>
      appendTestEvent(tx, orgId, { name: String(nth) }),
    );
  }
  await moveEvents(database.db, { holder: 'only', leases: leases.held() }, { limitPerShard: 100 });
}

const deleteExpired = () =>
  database.db.transaction({ name: 'forget', isolation: 'read committed' }, (tx) =>
    deleteExpiredEvents(tx, { olderThanMs: 3_600_000, limit: 100 }),
  );

const seqsOf = async (orgId: OrgId) =>
  (await listEventsAfter(database.db, orgId, { after: 0, limit: 100, mode: 'live' })).map(
    (event) => event.seq,
  );

describe('deleteExpiredEvents', () => {
  test('deletes old published events, keeps unpublished ones and all after them, and advances firstSeq', async () => {
    const orgId = testIds.next('org');
    const young = testIds.next('org');
    await storeEvents(orgId, 6);
    await storeEvents(young, 2);
    await query(`update events set recorded_at = now() - interval '2 hours' where seq <= 5`);
    await query(`update events set published_at = now() where seq <> 4`);
    await query(
      `update events set recorded_at = now() where org_id <> (select org_id from events where seq = 6)`,
    );

    expect(await deleteExpired()).toBe(3);
    expect(await seqsOf(orgId)).toEqual([4, 5, 6]);
    expect(await getFeedHead(database.db, orgId)).toEqual({ firstSeq: 4, lastSeq: 6 });
    expect(await seqsOf(young)).toEqual([1, 2]);

    await query('update events set published_at = now()');
    expect(await deleteExpired()).toBe(2);
    expect(await seqsOf(orgId)).toEqual([6]);
    expect(await deleteExpired()).toBe(0);
    expect(await getFeedHead(database.db, orgId)).toEqual({ firstSeq: 6, lastSeq: 6 });
  });

  test('does not change the numbering: the next event continues after the deleted ones', async () => {
    const orgId = testIds.next('org');
    await storeEvents(orgId, 2);
    await query(`update events set recorded_at = now() - interval '2 hours', published_at = now()`);
    await deleteExpired();
    expect(await seqsOf(orgId)).toEqual([]);
    await storeEvents(orgId, 1);
    expect(await seqsOf(orgId)).toEqual([3]);
  });
});
