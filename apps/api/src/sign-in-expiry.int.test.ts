import { randomUUID } from 'node:crypto';
import { createIdSource } from '@millrace/platform/ids';
import { systemClock } from '@millrace/platform/clock';
import { testLog } from '@millrace/testing';
import { expect, it } from 'vitest';
import { startApiFixture } from './api.fixture.ts';
import { startFixtureSignIn } from './users.fixture.ts';

it('expired codes are deleted in bounded batches, and valid ones are kept', async () => {
  await using fixture = await startApiFixture();
  const { db } = fixture;
  const ids = createIdSource({ clock: systemClock, cell: 1 });
  const deps = { db, clock: systemClock, ids, log: testLog('sign-in') };
  const { signIn, close } = await startFixtureSignIn(deps, { withMail: false, signUp: 'closed', oidc: [] });
  const [valid, expired] = [new Date('2999-01-01'), new Date('2020-01-01')];
  const rows = Array.from({ length: 1_501 }, (_, n) => ({
    id: randomUUID(),
    identifier: `code-${n}`,
    value: 'x',
    expires_at: n === 0 ? valid : expired,
  }));
  await db.kysely.insertInto('verifications').values(rows).execute();
  const left = async () => {
    const row = await db.kysely
      .selectFrom('verifications')
      .select((of) => of.fn.countAll<bigint>().as('count'))
      .executeTakeFirstOrThrow();
    return Number(row.count);
  };
  expect([await signIn.sweep(), await left()]).toEqual(['more', 501]);
  expect([await signIn.sweep(), await left()]).toEqual(['done', 1]);
  await close();
});

it('every table with expiring sign-in rows has an index on the expiry', async () => {
  await using fixture = await startApiFixture();
  const { rows } = await fixture.database.query<{ tablename: string }>(
    "select tablename from pg_indexes where schemaname = 'public' and indexdef like '%(expires_at)'",
  );
  const indexed = new Set(rows.map(({ tablename }) => tablename));
  expect(['sessions', 'verifications', 'device_codes'].filter((table) => !indexed.has(table))).toEqual([]);
});
