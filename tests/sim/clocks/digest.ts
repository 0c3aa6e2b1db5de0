import type { TestDatabase } from '@millrace/testing';

interface Column {
  readonly table_name: string;
  readonly column_name: string;
  readonly data_type: string;
}

/** Kept in another order or number by each run, without a charge, an end or a deletion behind it. */
const UNSTABLE_TABLES: ReadonlySet<string> = new Set(['loop_items', 'audit_runs']);

/**
 * What stands in a database, without ids and times: for each table its rows, for each amount of money its sum, for each
 * state how many rows have it, and for each time how many rows have one. A charge, an end or a deletion changes at least
 * one of these figures. The tables are those that the database has, so a new one is compared without being named here.
 */
export async function databaseDigest(database: TestDatabase): Promise<ReadonlyMap<string, string>> {
  const { rows: columns } = await database.query<Column>(`
    select c.table_name, c.column_name, c.data_type from information_schema.columns c
      join pg_class on pg_class.oid = format('public.%I', c.table_name)::regclass
     where c.table_schema = 'public' and not pg_class.relispartition and pg_class.relkind in ('r', 'p')
     order by 1, 2`);
  const figures = new Map<string, string>();
  for (const [table, itsColumns] of Map.groupBy(columns, ({ table_name }) => table_name)) {
    if (UNSTABLE_TABLES.has(table)) continue;
    const selected = ['count(*)::text as "rows"', ...itsColumns.flatMap(figureOf)];
    const { rows } = await database.query<Record<string, string | null>>(
      `select ${selected.join(', ')} from "${table}"`,
    );
    for (const [name, value] of Object.entries(rows[0] ?? {})) {
      figures.set(`${table}.${name}`, value ?? 'none');
    }
  }
  return figures;
}

function figureOf({ column_name: name, data_type: type }: Column): string[] {
  if (name.endsWith('_nano_usd')) return [`sum("${name}")::text as "sum of ${name}"`];
  if (type === 'timestamp with time zone') return [`count("${name}")::text as "${name}"`];
  if (type === 'text' && /^(state|status|phase|step|stage|kind|action|revoked_reason)$/.test(name)) {
    return [
      `(select string_agg(value, ',' order by value) from unnest(array_agg("${name}")) value) as "${name}"`,
    ];
  }
  return [];
}

/** The figures of the second that differ from the first, in words. */
export function differences(
  right: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
): readonly string[] {
  return [...new Set([...right.keys(), ...found.keys()])].flatMap((name) => {
    const [expected, actual] = [right.get(name), found.get(name)];
    return expected === actual ? [] : [`${name}: ${actual} instead of ${expected}`];
  });
}
