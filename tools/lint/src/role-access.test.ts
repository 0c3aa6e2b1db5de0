import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { accessOf, operationsIn, type Operation } from './role-access.ts';

const root = mkdtempSync(path.join(tmpdir(), 'role-access-'));
afterAll(() => rmSync(root, { recursive: true }));

function write(file: string, text: string): void {
  mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
  writeFileSync(path.join(root, file), text);
}

write('packages/core/package.json', JSON.stringify({ exports: { './rentals': './src/rentals/index.ts' } }));
write(
  'packages/core/src/rentals/index.ts',
  `export { start } from './start.service.ts';\nexport * from './read.store.ts';`,
);
write(
  'packages/core/src/rentals/start.service.ts',
  `import { insertRental as insert } from './write.store.ts';
   export async function start(tx: Tx) { await insert(tx); return import('./lazy.store.ts'); }`,
);
write(
  'packages/core/src/rentals/write.store.ts',
  `const target = 'rental_steps';
   export const insertRental = (tx: Tx) => tx.insertInto('rentals').onConflict((c) => c.doUpdateSet({ id: 1 })).execute();
   export const clear = (tx: Tx) => tx.deleteFrom('nodes').execute();
   class Steps { run(tx: Tx) { return tx.deleteFrom(target).execute(); } }
   export const steps = new Steps();`,
);
write(
  'packages/core/src/rentals/lazy.store.ts',
  'export const late = (sql: Sql) => sql`update volumes set id = 1`;',
);
write(
  'packages/core/src/rentals/read.store.ts',
  `export const find = (r: Reader) => r.selectFrom('prices').innerJoin('orders as o', 'a', 'b').forUpdate().execute();
   export const unused = (r: Reader) => r.deleteFrom('prices').execute();`,
);
write(
  'apps/one/src/main.ts',
  `import { find, start } from '@millrace/core/rentals';
   import type { clear } from '../../../packages/core/src/rentals/write.store.ts';
   await start(tx); await find(tx);`,
);
write(
  'apps/two/src/main.ts',
  `import { steps } from '../../../packages/core/src/rentals/write.store.ts';\nsteps.run(tx);`,
);

const schema = `
CREATE FUNCTION public.tell() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ begin perform note(1); return null; end $$;

COMMENT ON FUNCTION public.tell() IS 'x';

CREATE FUNCTION public.note(n int) RETURNS void
    LANGUAGE sql
    AS $$ insert into notices (id) values (1) $$;

COMMENT ON FUNCTION public.note(n int) IS 'x';

CREATE FUNCTION public.privileged() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    AS $$ begin delete from events; return null; end $$;

CREATE TRIGGER rentals_tell AFTER INSERT OR DELETE ON public.rentals FOR EACH ROW EXECUTE FUNCTION public.tell();

CREATE TRIGGER rentals_privileged AFTER INSERT ON public.rentals FOR EACH ROW EXECUTE FUNCTION public.privileged();
`;

const found = (app: string): Record<string, string> =>
  Object.fromEntries(
    [...accessOf(root, `apps/${app}/src/main.ts`, schema)].map(([table, used]) => [
      table,
      [...used].toSorted().join(' '),
    ]),
  );

describe('accessOf', () => {
  it('finds the tables of reachable code, through re-exports, dynamic imports, locks and triggers, and no others', () => {
    expect(found('one')).toEqual({
      rentals: 'insert select update',
      volumes: 'select update',
      prices: 'select update',
      notices: 'insert select',
    });
  });

  it('takes every table name of the file for a variable', () => {
    expect(found('two')).toEqual({ rental_steps: 'delete select' });
  });
});

describe('operationsIn', () => {
  it.each<readonly [string, readonly string[]]>([
    ['insert into rentals (id) values (1)', ['insert']],
    ['insert into rentals (id) values (1) on conflict (id) do update set id = 2', ['insert', 'update']],
    ['update only rentals set id = 1', ['update']],
    ['select id from rentals', []],
    ['select id from rentals for no key update', ['update']],
    ['delete from rentals using other where true', ['delete']],
    ['truncate rentals', ['truncate']],
  ])('finds the operations of: %s', (text, expected) => {
    const changes = operationsIn(text).filter(({ table }) => table === 'rentals');
    const kinds: ReadonlySet<Operation> = new Set(changes.map(({ operation }) => operation));
    expect([...kinds].filter((operation) => operation !== 'select').toSorted()).toEqual(expected);
  });
});
