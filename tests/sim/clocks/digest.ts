import type { TestDatabase } from '@millrace/testing';

interface Column {
  readonly table_name: string;
  readonly column_name: string;
  readonly data_type: string;
}

/** Their order or row count differs between runs without a charge, an end or a deletion. */
const UNSTABLE_TABLES: ReadonlySet<string> = new Set(['loop_items', 'audit_runs']);

/**
 * Summarises a database without ids and times: rows per table, sums of money, states, and counts of set timestamps. A charge,
 * an end or a deletion changes at least one figure. All tables are read from the catalog, so new ones are included.
 */
export async function databaseDigest(database: TestDatabase): Promise<ReadonlyMap<string, string>> {
  let statement = statements.get(database);
  if (statement === undefined) {
    statement = await digestStatement(database);
    statements.set(database, statement);
  }
  const { rows } = await database.query<{ readonly name: string; readonly figures: TableFigures }>(statement);
  return new Map(
    rows.flatMap(({ name, figures }) =>
      Object.entries(figures).map(([figure, value]) => [`${name}.${figure}`, value ?? 'none'] as const),
    ),
  );
}

type TableFigures = Readonly<Record<string, string | null>>;

/** No test changes the schema of its database. */
const statements = new WeakMap<TestDatabase, string>();

/** One statement for all tables, because a statement for each would take most of the time. */
async function digestStatement(database: TestDatabase): Promise<string> {
  const { rows: columns } = await database.query<Column>(`
    select c.table_name, c.column_name, c.data_type from information_schema.columns c
      join pg_class on pg_class.oid = format('public.%I', c.table_name)::regclass
     where c.table_schema = 'public' and not pg_class.relispartition and pg_class.relkind in ('r', 'p')
     order by 1, 2`);
  const tables = Map.groupBy(columns, ({ table_name }) => table_name);
  return [...tables]
    .filter(([table]) => !UNSTABLE_TABLES.has(table))
    .map(([table, itsColumns]) => {
      const selected = ['count(*)::text as "rows"', ...itsColumns.flatMap(figureOf)];
      return `select '${table}' as name, to_json(t) as figures from (select ${selected.join(', ')} from "${table}") t`;
    })
    .join(' union all ');
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

export function differences(
  right: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
): readonly string[] {
  return [...new Set([...right.keys(), ...found.keys()])].flatMap((name) => {
    const [expected, actual] = [right.get(name), found.get(name)];
    return expected === actual ? [] : [`${name}: ${actual} instead of ${expected}`];
  });
}
