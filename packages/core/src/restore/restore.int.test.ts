import { systemClock } from '@millrace/platform/clock';
import { createTestDatabase, testLog, type TestDatabase } from '@millrace/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { noLaterUsage } from '../inference/index.ts';
import { confirmRestore, type ConfirmSteps } from './confirm-restore.service.ts';
import { declareRestored } from './declare-restore.service.ts';
import type { MarkCopy } from './restore-mark.ts';
import type { MarkStore } from './mark-stores.ts';
import { createRestoreGuard, type RestoreGuard } from './restore.guard.ts';
import { beginConfirming, readRestoreState, saveRestoreReport } from './restore.store.ts';

/** The mark stores are in memory, and a restore is the earlier row. The drill uses a real backup. */

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

function memoryStore(name: MarkStore['name']) {
  const copies = new Map<string, MarkCopy>();
  let isAway = false;
  const store: MarkStore = {
    name,
    read: async (installation) => {
      if (isAway) throw new Error('away');
      return copies.get(installation) ?? null;
    },
    write: async (installation, mark) => {
      if (isAway) throw new Error('away');
      copies.set(installation, mark);
    },
  };
  return { ...store, wipe: () => copies.clear(), cut: (away: boolean) => void (isAway = away) };
}

const guardOf = (...stores: readonly MarkStore[]): RestoreGuard =>
  createRestoreGuard({ db: database.db, clock: systemClock, log: testLog(), stores });

async function query(text: string): Promise<void> {
  await database.query(text);
}

const restoreTo = (mark: number, generation = 1): Promise<void> =>
  query(
    `update restore_state set mark = ${mark}, generation = ${generation}, state = 'normal', found_at = null, outside = null`,
  );

const steps: ConfirmSteps = {
  storeEvents: async () => 0,
  endLeases: async () => 0,
  quarantine: async () => undefined,
};

const report = {
  ...{ restoredTo: '', newestMark: '', leases: [], machines: [], payments: [], invoices: null, events: [] },
  ...{ eventTypes: {}, usage: noLaterUsage, problems: [] },
};

async function confirm(): Promise<void> {
  const { db } = database;
  await db.transaction({ name: 'test', isolation: 'read committed' }, async (tx) => {
    await saveRestoreReport(tx, report);
    expect(await beginConfirming(tx)).toBe(true);
  });
  expect(await confirmRestore(db, steps)).toBe(true);
}

describe('the restore mark', () => {
  it('is advanced in the database and then copied to the stores', async () => {
    const nats = memoryStore('nats');
    const guard = guardOf(nats);
    expect(guard.isOpen()).toBe(false);
    const { installation } = await guard.check();
    await guard.check();
    expect(guard.isOpen()).toBe(true);
    expect(await nats.read(installation)).toMatchObject({ generation: 1, mark: 2 });
  });

  it('proves a restore to a worker that starts afterwards if a copy is ahead of the row', async () => {
    const nats = memoryStore('nats');
    const before = guardOf(nats);
    for (let nth = 0; nth < 3; nth += 1) await before.check();
    await restoreTo(1);
    const guard = guardOf(nats);
    expect((await guard.check()).status).toBe('restored');
    expect(guard.isOpen()).toBe(false);
    expect(guard.reason()).toContain('millrace-admin restore confirm');
    // The mark does not advance, so the proof remains.
    await guard.check();
    expect(await readRestoreState(database.db)).toMatchObject({ mark: 1, outside: { mark: 3 } });
  });

  it('proves a restore by Valkey alone if NATS has lost its disk', async () => {
    const [nats, valkey] = [memoryStore('nats'), memoryStore('valkey')];
    const before = guardOf(nats, valkey);
    for (let nth = 0; nth < 3; nth += 1) await before.check();
    await restoreTo(1);
    nats.wipe();
    expect((await guardOf(nats, valkey).check()).status).toBe('restored');
  });

  it('proves a restore to a running worker, in the transaction of the next lease', async () => {
    const nats = memoryStore('nats');
    const guard = guardOf(nats);
    for (let nth = 0; nth < 3; nth += 1) await guard.check();
    await restoreTo(1);
    nats.wipe();
    expect(await guard.mayGrant(database.db)).toBe(false);
    expect((await guard.check()).status).toBe('restored');
  });

  it('proves nothing if it is absent: empty stores and a failover without loss change nothing', async () => {
    const [nats, valkey] = [memoryStore('nats'), memoryStore('valkey')];
    const guard = guardOf(nats, valkey);
    await guard.check();
    nats.wipe();
    valkey.wipe();
    expect((await guard.check()).status).toBe('normal');
    expect((await guardOf(nats, valkey).check()).status).toBe('normal');
    expect(guard.isOpen()).toBe(true);
  });

  it('does not advance while no store responds, so that a copy ahead of it stays ahead', async () => {
    const nats = memoryStore('nats');
    for (let nth = 0; nth < 3; nth += 1) await guardOf(nats).check();
    await restoreTo(1);
    nats.cut(true);
    const guard = guardOf(nats);
    for (let nth = 0; nth < 5; nth += 1) await guard.check();
    expect(guard.isOpen()).toBe(false);
    expect((await readRestoreState(database.db)).status).toBe('normal');
    nats.cut(false);
    expect((await guard.check()).status).toBe('restored');
  });

  it('of another installation is ignored', async () => {
    const nats = memoryStore('nats');
    for (let nth = 0; nth < 3; nth += 1) await guardOf(nats).check();
    await query(`update restore_state set installation = gen_random_uuid(), mark = 0`);
    expect((await guardOf(nats).check()).status).toBe('normal');
  });
});

describe('confirmRestore', () => {
  it('raises the generation above all copies, once, and opens the guard', async () => {
    const nats = memoryStore('nats');
    const before = guardOf(nats);
    for (let nth = 0; nth < 5; nth += 1) await before.check();
    await restoreTo(2);
    const guard = guardOf(nats);
    await guard.check();
    const floors: bigint[] = [];
    await database.db.transaction({ name: 'test', isolation: 'read committed' }, async (tx) => {
      await saveRestoreReport(tx, report);
      await beginConfirming(tx);
    });
    const withFloor = { ...steps, endLeases: async (floor: bigint) => floors.push(floor) };
    const [one, two] = await Promise.all([
      confirmRestore(database.db, withFloor),
      confirmRestore(database.db, withFloor),
    ]);
    expect([one, two].filter(Boolean)).toHaveLength(1);
    expect(floors[0]).toBe(4_294_967_296n);
    expect(await readRestoreState(database.db)).toMatchObject({ status: 'normal', generation: 2 });
    // The earlier worker, whose own mark is older now, also continues.
    expect((await before.check()).status).toBe('normal');
    expect((await guard.check()).status).toBe('normal');
    expect(guard.isOpen()).toBe(true);
    expect((await readRestoreState(database.db)).confirmedAt).not.toBeNull();
  });

  it('stores the earliest restore point, so that machines of any lost period are recognised by their creation time', async () => {
    const nats = memoryStore('nats');
    const guard = guardOf(nats);
    for (let nth = 0; nth < 3; nth += 1) await guard.check();
    const minutesAgo = (minutes: number): Date => new Date(database.db.clock.nowMs() - minutes * 60_000);
    const later = new Date(database.db.clock.nowMs() + 3_600_000);
    for (const [mark, minutes] of [
      [1, 600],
      [0, 60],
    ] as const) {
      await restoreTo(mark);
      await query(`update restore_state set marked_at = '${minutesAgo(minutes).toISOString()}'`);
      expect((await guard.check()).status).toBe('restored');
      await confirm();
      expect((await guard.check()).status).toBe('normal');
    }
    for (const minutes of [30, 500]) {
      expect(guard.mayHaveLostRow({ firstSeenAt: later, createdAt: minutesAgo(minutes) })).toBe(true);
    }
    expect(guard.mayHaveLostRow({ firstSeenAt: later, createdAt: minutesAgo(700) })).toBe(false);
    expect(guard.mayHaveLostRow({ firstSeenAt: later, createdAt: later })).toBe(false);
  });

  it('applies to a restore that an operator declared because the mark copies were lost too', async () => {
    const nats = memoryStore('nats');
    const guard = guardOf(nats);
    await guard.check();
    nats.wipe();
    const restoredTo = new Date('2026-01-02T03:12:00Z');
    const declare = () =>
      database.db.transaction({ name: 'test', isolation: 'read committed' }, (tx) =>
        declareRestored(tx, { restoredTo, lastInvoice: 4_711 }),
      );
    expect(await Promise.all([declare(), declare()])).toEqual(expect.arrayContaining([true, false]));
    const restarted = guardOf(nats);
    expect(await restarted.check()).toMatchObject({ status: 'restored', markedAt: restoredTo });
    expect(restarted.isOpen()).toBe(false);
    await confirm();
    expect(await restarted.check()).toMatchObject({ status: 'normal', generation: 2 });
    expect(restarted.isOpen()).toBe(true);
    await query(`do $$ begin assert (select last_number from invoice_counter) = 4711; end $$`);
  });

  it('is rejected before a report exists', async () => {
    const nats = memoryStore('nats');
    for (let nth = 0; nth < 3; nth += 1) await guardOf(nats).check();
    await restoreTo(1);
    await guardOf(nats).check();
    const started = await database.db.transaction(
      { name: 'test', isolation: 'read committed' },
      beginConfirming,
    );
    expect(started).toBe(false);
  });

  it('is needed again after a restore to a point before the confirmation', async () => {
    const nats = memoryStore('nats');
    for (let nth = 0; nth < 3; nth += 1) await guardOf(nats).check();
    await restoreTo(1);
    await guardOf(nats).check();
    await confirm();
    await guardOf(nats).check();
    await restoreTo(900);
    expect((await guardOf(nats).check()).status).toBe('restored');
    await confirm();
    expect(await readRestoreState(database.db)).toMatchObject({ generation: 3 });
  });

  it('never uses a wire id or an invoice number twice', async () => {
    const nats = memoryStore('nats');
    const guard = guardOf(nats);
    const { installation } = await guard.check();
    const counters = { invoices: 7, wireIds: { 'rental/1': 1_048_576 + 40 } };
    await nats.write(installation, { generation: 1, mark: 50, at: '2026-01-01T00:00:00.000Z', counters });
    await guard.check();
    const client = await database.connect();
    // Before the confirmation, because apis assign wire ids meanwhile.
    const ids = await client.query(
      "select next_id::int as next from id_blocks where kind = 'rental' and block = 1",
    );
    expect(ids.rows[0].next).toBeGreaterThan(1_048_576 + 40);
    await confirm();
    const gaps = await client.query(
      'select first_number::int as first, last_number::int as last from invoice_gaps',
    );
    expect(gaps.rows).toEqual([{ first: 1, last: 7 }]);
    const counter = await client.query('select last_number::int as last from invoice_counter');
    expect(counter.rows).toEqual([{ last: 7 }]);
    await client.end();
  });
});
