import type { Client } from 'pg';
import { uniqueId } from '../names.ts';

/** How PostgreSQL fails the selected rows. */
export type Poison = 'throws' | 'times out';

/** How the work on a failing item fails: in the database, at an engine or another service, or in the ledger. */
export type ItemPoison = Poison | 'hangs' | 'is refused by the ledger';

const raises: Readonly<Record<Poison, string>> = {
  throws: `raise exception 'This row must fail.' using errcode = 'check_violation'`,
  'times out': `raise exception 'canceling statement due to statement timeout' using errcode = 'query_canceled'`,
};

/** Makes every write of rows that match `when` fail. Returns a function that removes the fault. */
export async function poisonRows(
  database: { connect(): Promise<Client> },
  poison: {
    readonly table: string;
    /** A condition on the new row, such as `new.org_id = '…'`. */
    readonly when: string;
    readonly how?: Poison;
  },
): Promise<() => Promise<void>> {
  const name = `poison_${uniqueId()}`;
  const client = await database.connect();
  await client.query(`create function ${name}() returns trigger language plpgsql as $$
    begin ${raises[poison.how ?? 'throws']}; end $$`);
  await client.query(`create trigger ${name} before insert or update on ${poison.table} for each row
    when (${poison.when}) execute function ${name}()`);
  return async () => {
    await client.query(`drop trigger ${name} on ${poison.table}`);
    await client.query(`drop function ${name}()`);
    await client.end();
  };
}

/** An external call that fails at once or never ends. */
export function failingCall(how: 'throws' | 'hangs'): Promise<never> {
  return how === 'throws' ? Promise.reject(new Error('This call must fail.')) : new Promise(() => undefined);
}

/**
 * The title of tests with a failing item in a loop, for `describe`. A test finds the names in the sources: every shared
 * loop that `defineLoop` declares needs such tests, which list their kinds in `it.each<ItemPoison>(['throws',
 * 'hangs'])`.
 */
export function failingLoop(name: string): string {
  return `a failing item of the loop "${name}"`;
}
