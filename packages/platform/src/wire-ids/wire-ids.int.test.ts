import { createTestDatabase } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { createDb } from '../db/index.ts';
import { systemClock } from '../clock/index.ts';
import { createLogger } from '../log/index.ts';
import { createIdSource } from '../ids/index.ts';
import { createWireIdAllocator, idsOfBlock, type WireIdKind } from './index.ts';

const database = await createTestDatabase();
afterAll(() => database.drop());

/** A separate pool, as in another process. */
function anotherProcess() {
  return createDb({
    url: database.url,
    poolSize: 2,
    ids: createIdSource({ clock: systemClock, cell: 1 }),
    log: createLogger({ name: 'test', level: 'silent' }),
  });
}

async function setNextId(kind: WireIdKind, cell: number, nextId: number): Promise<void> {
  const client = await database.connect();
  await client.query('update id_blocks set next_id = $3 where kind = $1 and cell = $2', [kind, cell, nextId]);
  await client.end();
}

const take = async (next: () => Promise<number>, count: number): Promise<number[]> =>
  Promise.all(Array.from({ length: count }, next));

describe('createWireIdAllocator', () => {
  it('starts at 1 in cell 0 and counts up', async () => {
    const ids = createWireIdAllocator({ db: database.db, cell: 0, kind: 'rental', chunk: 4 });
    expect(await take(ids.next, 10)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it('never allocates an id twice in concurrent processes', async () => {
    const pools = [anotherProcess(), anotherProcess(), anotherProcess()];
    const allocators = pools.map((db) => createWireIdAllocator({ db, cell: 5, kind: 'rental', chunk: 7 }));
    const given = (await Promise.all(allocators.map((ids) => take(ids.next, 200)))).flat();
    expect(new Set(given).size).toBe(600);
    expect(given.every((id) => id >= idsOfBlock(5).first && id <= idsOfBlock(5).last)).toBe(true);
    await Promise.all(pools.map((db) => db.close()));
  });

  it('never allocates an id twice in two cells', async () => {
    const cells = [10, 11, 63];
    const given = await Promise.all(
      cells.map((cell) =>
        take(createWireIdAllocator({ db: database.db, cell, kind: 'volume', chunk: 50 }).next, 120),
      ),
    );
    expect(new Set(given.flat()).size).toBe(360);
  });

  it('continues in the next block of the cell, also in concurrent processes', async () => {
    const first = createWireIdAllocator({ db: database.db, cell: 20, kind: 'rental', chunk: 1 });
    await first.next();
    await setNextId('rental', 20, idsOfBlock(20).last - 1);
    const pools = [anotherProcess(), anotherProcess()];
    const given = await Promise.all(
      pools.map((db) => take(createWireIdAllocator({ db, cell: 20, kind: 'rental', chunk: 3 }).next, 10)),
    );
    const sorted = given.flat().toSorted((a, b) => a - b);
    expect(new Set(sorted).size).toBe(20);
    expect(sorted.slice(0, 3)).toEqual([idsOfBlock(20).last - 1, idsOfBlock(20).last, idsOfBlock(84).first]);
    await Promise.all(pools.map((db) => db.close()));
  });

  it('throws if the cell has no ids left', async () => {
    const client = await database.connect();
    await client.query(
      `insert into id_blocks (kind, block, cell, next_id) values ('volume', 2014, 30, 2015 * 1048576::bigint)`,
    );
    await client.end();
    const ids = createWireIdAllocator({ db: database.db, cell: 30, kind: 'volume', chunk: 5 });
    await expect(ids.next()).rejects.toThrow('Cell 30 has no volume ids left');
  });

  it('works again after a failed database call', async () => {
    const db = anotherProcess();
    const ids = createWireIdAllocator({ db, cell: 40, kind: 'rental', chunk: 5 });
    const broken = database.db.transaction({ name: 'caller', isolation: 'read committed' }, () => ids.next());
    await expect(broken).rejects.toThrow('inside the transaction "caller"');
    expect(await ids.next()).toBe(idsOfBlock(40).first);
    await db.close();
  });

  it('relies on a constraint that refuses a block of another cell', async () => {
    const client = await database.connect();
    await expect(
      client.query(`insert into id_blocks (kind, block, cell, next_id) values ('rental', 7, 8, 7340032)`),
    ).rejects.toMatchObject({ constraint: 'id_blocks_dealt_by_rule' });
    await client.end();
  });
});
