import { toUuid } from '@millrace/platform/ids';
import { createTenant, createTestDatabase, insertFleet, insertRentals, testLog } from '@millrace/testing';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { deleteFinished, finishedRowsRules } from './index.ts';

const database = await createTestDatabase();
const { db } = database;
afterAll(() => database.drop());
const log = testLog();
const { orgId, ownerId: userId } = await createTenant(db);
const orgUuid = toUuid(orgId);

async function insertActions(doneDaysAgo: readonly (number | null)[]): Promise<void> {
  await database.query(
    `insert into required_actions (org_id, mode, cause_kind, cause_id, action, reason, due_at, state, created_at, done_at)
     select $1, 'live', 'rental', 'r' || row_number() over () || random(), 'stop', 'balance', now(),
            case when days is null then 'pending' else 'done' end, now() - interval '2 years', now() - days * interval '1 day'
       from unnest($2::int[]) as days`,
    [orgUuid, doneDaysAgo],
  );
}

const remaining = async (): Promise<(number | null)[]> => {
  const { rows } = await database.query<{ days: number | null }>(
    `select extract(day from now() - done_at)::int as days from required_actions order by 1 nulls last`,
  );
  return rows.map(({ days }) => days);
};

describe('deleteFinished', () => {
  it('deletes finished rows after their period, in batches, and never unfinished ones', async () => {
    await database.query('delete from required_actions');
    await insertActions([1, 399, 401, 402, 900, null]);
    expect(await deleteFinished(db, { log, limit: 2 })).toBe(2);
    expect(await deleteFinished(db, { log, limit: 2 })).toBe(1);
    expect(await deleteFinished(db, { log, limit: 2 })).toBe(0);
    expect(await remaining()).toEqual([1, 399, null]);
  });

  it('deletes each row once if two workers do it at the same time', async () => {
    await database.query('delete from required_actions');
    await insertActions(Array.from({ length: 300 }, () => 500));
    const counts = await Promise.all([1, 2, 3].map(() => deleteFinished(db, { log, limit: 100 })));
    const left = (await remaining()).length;
    expect(left).toBeLessThan(300);
    expect(left).toBe(300 - counts.reduce((sum, count) => sum + count, 0));
  });

  it('continues with the other tables if the statement for one fails', async () => {
    await database.query('delete from required_actions');
    await insertActions([500]);
    const rules = [{ table: 'no_such_table', keepDays: 400 }, ...finishedRowsRules];
    expect(await deleteFinished(db, { log, limit: 10 }, rules)).toBe(1);
    expect(await remaining()).toEqual([]);
  });

  it('keeps the steps of rentals that have not ended', async () => {
    const fleet = await insertFleet(db, { nodes: 1 });
    const [ended] = await insertRentals(db, { orgId, userId, ...fleet, live: 0, ended: 1 });
    const [live] = await insertRentals(db, { orgId, userId, ...fleet, live: 1 });
    if (ended === undefined || live === undefined) throw new Error('No rentals were inserted.');
    for (const rental of [ended, live]) {
      await database.query(
        `insert into rental_steps (rental_id, seq, org_id, mode, attempt, name, status, started_at, ended_at)
         values ($1, 900, $2, 'live', 1, 'boot', 'done', now() - interval '2 years', now() - interval '2 years')`,
        [toUuid(rental.id), orgUuid],
      );
    }
    await deleteFinished(db, { log, limit: 10 });
    const { rows } = await database.query<{ rental_id: string }>(
      `select rental_id from rental_steps where seq = 900`,
    );
    expect(rows).toEqual([{ rental_id: toUuid(live.id) }]);
  });

  it('refuses a period below 30 days', async () => {
    await expect(database.query(`select delete_finished_rows('required_actions', 29, 10)`)).rejects.toThrow(
      'at least 30 days',
    );
  });
});

describe('the look-up of required actions', () => {
  it('reads an index, however many finished actions there are', async () => {
    await database.query(
      `insert into required_actions (org_id, mode, cause_kind, cause_id, action, reason, due_at, state, created_at, done_at)
       select $1, 'live', 'rental', 'many' || n, 'stop', 'balance', now(), 'done', now(), now() from generate_series(1, 20000) as n`,
      [orgUuid],
    );
    await database.query('analyze required_actions');
    const { rows } = await sql<{ 'QUERY PLAN': readonly { Plan: Record<string, unknown> }[] }>`
      explain (format json) select 1 from required_actions
       where (org_id, mode, cause_kind, cause_id, action) = (${orgUuid}::uuid, 'live', 'rental', 'many7', 'stop')
         and state <> 'cancelled' and created_at >= now() - interval '1 hour'`.execute(db.kysely);
    expect(JSON.stringify(rows)).toContain('required_actions_cause_idx');
  });
});
