import type { Client } from 'pg';

interface Column {
  readonly table_name: string;
  readonly column_name: string;
  readonly is_nullable: 'YES' | 'NO';
  readonly column_default: string | null;
  readonly is_identity: 'YES' | 'NO';
  readonly identity_generation: 'ALWAYS' | 'BY DEFAULT' | null;
  readonly is_generated: 'ALWAYS' | 'NEVER';
  readonly udt_name: string;
}

const columnsQuery = `
  select c.table_name, c.column_name, c.is_nullable, c.column_default, c.is_identity, c.identity_generation,
         c.is_generated, c.udt_name
  from information_schema.columns c
  join information_schema.tables t using (table_schema, table_name)
  where c.table_schema = 'public' and t.table_type in ('BASE TABLE', 'VIEW')
    and not exists (select from pg_class part where part.relispartition and part.oid = to_regclass(format('%I', c.table_name)))
  order by c.table_name, c.ordinal_position
`;

interface CheckConstraint {
  readonly table_name: string;
  readonly column_name: string;
  readonly definition: string;
}

// Checks on a single column or its domain. Those of the form `column in ('a', 'b')` become a union of literals.
const checkConstraintsQuery = `
  select c.conrelid::regclass::text as table_name, a.attname as column_name, pg_get_constraintdef(c.oid) as definition
  from pg_constraint c
  join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
  where c.contype = 'c' and cardinality(c.conkey) = 1 and c.connamespace = 'public'::regnamespace
  union all
  select r.oid::regclass::text, a.attname, pg_get_constraintdef(c.oid)
  from pg_constraint c
  join pg_attribute a on a.atttypid = c.contypid
  join pg_class r on r.oid = a.attrelid and r.relkind in ('r', 'p')
  where c.contype = 'c' and c.contypid <> 0 and c.connamespace = 'public'::regnamespace
  order by 1, 2, 3
`;

/** The union of literals that a check allows, or null if the check has another form. */
export function literalsOf(definition: string): string | null {
  const list = /^CHECK \(\(\w+ = ANY \(ARRAY\[(('[a-z0-9_-]+'::text(, )?)+)\]\)\)\)$/.exec(definition)?.[1];
  return list === undefined ? null : list.replaceAll('::text', '').replaceAll(', ', ' | ');
}

/** TypeScript types by PostgreSQL type. If select and insert types differ, the type is a ColumnType. */
const typeOf: Readonly<Record<string, string>> = {
  uuid: 'string',
  text: 'string',
  varchar: 'string',
  citext: 'string',
  numeric: 'string',
  date: 'string',
  xid8: 'string',
  inet: 'string',
  cidr: 'string',
  bool: 'boolean',
  int2: 'number',
  int4: 'number',
  float8: 'number',
  int8: 'bigint',
  bytea: 'Buffer',
  timestamptz: 'Date',
  // The driver returns jsonb parsed but expects text on input, because it would convert an array to a SQL array.
  jsonb: 'ColumnType<Json, string, string>',
};

function tsType(column: Column, literals: string | undefined): string {
  const isArray = column.udt_name.startsWith('_');
  const element = typeOf[isArray ? column.udt_name.slice(1) : column.udt_name];
  if (element === undefined) {
    throw new Error(
      `${column.table_name}.${column.column_name} has the type ${column.udt_name}, ` +
        'which generate-tables.ts does not support. Add the type there.',
    );
  }
  const type = isArray ? `${element}[]` : (literals ?? element);
  return column.is_nullable === 'YES' ? nullable(type) : type;
}

function nullable(type: string): string {
  return type.startsWith('ColumnType<')
    ? type.replaceAll(/(Json|string)(?=[,>])/g, '$1 | null')
    : `${type} | null`;
}

function declared(column: Column, literals: string | undefined): string {
  const type = tsType(column, literals);
  if (column.is_generated === 'ALWAYS' || column.identity_generation === 'ALWAYS') {
    return `GeneratedAlways<${type}>`;
  }
  const isOptional = column.column_default !== null || column.is_identity === 'YES';
  if (!isOptional) return type;
  // Generated<ColumnType<…>> would make ColumnType itself the type to write.
  return type.startsWith('ColumnType<')
    ? type.replaceAll(', string, ', ', string | undefined, ')
    : `Generated<${type}>`;
}

function pascalCase(name: string): string {
  return name
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

async function readLiterals(client: Client): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<CheckConstraint>(checkConstraintsQuery);
  return new Map(
    rows.flatMap((choice) => {
      const literals = literalsOf(choice.definition);
      return literals === null ? [] : [[`${choice.table_name}.${choice.column_name}`, literals]];
    }),
  );
}

/** Generates the TypeScript types of all tables. The output depends only on the schema. */
export async function generateTables(client: Client): Promise<string> {
  const { rows } = await client.query<Column>(columnsQuery);
  const literals = await readLiterals(client);
  const byTable = Map.groupBy(rows, (column) => column.table_name);
  const interfaces = [...byTable].map(([table, columns]) => {
    const lines = columns.map(
      (column) =>
        `  ${column.column_name}: ${declared(column, literals.get(`${table}.${column.column_name}`))};`,
    );
    return `export interface ${pascalCase(table)}Table {\n${lines.join('\n')}\n}\n`;
  });
  const members = [...byTable.keys()].map((table) => `  ${table}: ${pascalCase(table)}Table;`);
  const body = [...interfaces, `export interface GeneratedTables {\n${members.join('\n')}\n}\n`].join('\n');
  const wrappers = ['ColumnType', 'Generated', 'GeneratedAlways'].filter((name) => body.includes(`${name}<`));
  return [
    '// Generated from the migrated database by `npm run schema`. Do not edit.',
    `import type { ${wrappers.join(', ')} } from 'kysely';`,
    "import type { Json } from './json.ts';",
    '',
    body,
  ].join('\n');
}
