import type { NodeId } from '@millrace/platform/ids';
import { toUuid } from '@millrace/platform/ids';
import { createTestDatabase, testIds } from '@millrace/testing';
import { createRandom } from '@millrace/testing/random';
import type { Client } from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { deleteSeenChanges, readListingChanges, type ListingPosition } from './listing.store.ts';

const clients: Client[] = [];

const database = await createTestDatabase();
afterAll(async () => {
  for (const client of clients) await client.end();
  await database.drop();
});

async function writer(): Promise<Client> {
  const client = await database.connect();
  clients.push(client);
  return client;
}

const note = (client: Client, node: NodeId): Promise<unknown> =>
  client.query('insert into listing_changes (node_id) values ($1)', [toUuid(node)]);

class Reader {
  place: ListingPosition | null = null;
  lookedAt = 0;

  async look(turn = 0): Promise<readonly NodeId[]> {
    this.lookedAt = turn;
    const { place, nodeIds } = await readListingChanges(database.db, this.place);
    this.place = place;
    return nodeIds ?? [];
  }
}

const deleteSeen = (seen: ListingPosition | null): Promise<void> =>
  database.db.transaction({ name: 'forget', isolation: 'read committed' }, async (tx) => {
    if (seen !== null) await deleteSeenChanges(tx, seen);
  });

describe('listing_changes', () => {
  it('returns a change that was written first and committed second', async () => {
    const [early, late] = [await writer(), await writer()];
    const [first, second] = [testIds.next('nod'), testIds.next('nod')];
    const reader = new Reader();
    await reader.look();
    await early.query('begin');
    await note(early, first);
    await note(late, second);
    expect(await reader.look()).toEqual([second]);
    expect(await reader.look()).toEqual([]);
    await early.query('commit');
    expect(await reader.look()).toEqual([first]);
    expect(await reader.look()).toEqual([]);
  });

  it('never returns a rolled-back change, but returns changes of a released savepoint', async () => {
    const client = await writer();
    const [undone, stays] = [testIds.next('nod'), testIds.next('nod')];
    const reader = new Reader();
    await reader.look();
    await client.query('begin; savepoint a');
    await note(client, undone);
    await client.query('rollback to savepoint a; savepoint b');
    await note(client, stays);
    await client.query('release savepoint b; commit');
    expect(await reader.look()).toEqual([stays]);
  });

  it('retains a change that committed long after it was written', async () => {
    const slow = await writer();
    const node = testIds.next('nod');
    const reader = new Reader();
    await reader.look();
    await slow.query('begin');
    await note(slow, node);
    await reader.look();
    const before = reader.place;
    await slow.query('commit');
    // Only changes visible at the position are deleted, and this one was not visible.
    await deleteSeen(before);
    expect(await reader.look()).toEqual([node]);
    await deleteSeen(reader.place);
    const { rows } = await slow.query('select 1 from listing_changes where node_id = $1', [toUuid(node)]);
    expect(rows).toEqual([]);
  });

  it('returns null for a position of another timeline', async () => {
    const reader = new Reader();
    await reader.look();
    const { place } = reader;
    if (place === null) throw new Error('The reader has no position.');
    expect((await readListingChanges(database.db, { ...place, timeline: 'FFFFFFFF' })).nodeIds).toBeNull();
    const ahead = { ...place, snapshot: '9000000000:9000000000:' };
    expect((await readListingChanges(database.db, ahead)).nodeIds).toBeNull();
  });

  it('misses nothing under random writes, commits, rollbacks, deletions and reads', async () => {
    const random = createRandom(7);
    const writers = await Promise.all(Array.from({ length: 5 }, writer));
    const open = new Map<Client, NodeId[]>();
    const readers = Array.from({ length: 3 }, () => ({ reader: new Reader(), due: new Set<NodeId>() }));
    for (const { reader } of readers) await reader.look();
    for (let turn = 0; turn < 600; turn += 1) {
      const client = random.pick(writers);
      const written = open.get(client);
      const roll = random.int(0, 9);
      if (roll <= 2) {
        const one = random.pick(readers);
        for (const seen of await one.reader.look(turn)) one.due.delete(seen);
        expect([...one.due], `turn ${turn}`).toEqual([]);
      } else if (roll === 3) {
        // The position of the reader that is furthest behind.
        const [furthest] = readers.toSorted((a, b) => a.reader.lookedAt - b.reader.lookedAt);
        await deleteSeen(furthest?.reader.place ?? null);
      } else if (written === undefined) {
        await client.query('begin');
        open.set(client, []);
      } else if (roll <= 7) {
        const node = testIds.next('nod');
        await note(client, node);
        written.push(node);
      } else {
        open.delete(client);
        await client.query(roll === 8 ? 'commit' : 'rollback');
        if (roll === 8) for (const { due } of readers) for (const node of written) due.add(node);
      }
    }
    for (const client of open.keys()) await client.query('rollback');
  });
});
