import { CompiledQuery } from 'kysely';
import { Client, type QueryConfig, type QueryResult } from 'pg';
import type { Reader } from './db.ts';

/**
 * A statement that each connection parses once and then executes by name, for the few statements with most of the load:
 * PostgreSQL would spend several times longer on planning than on execution. The text names every result column, so
 * that a migration that adds columns does not invalidate it.
 */
export interface PreparedStatement {
  readonly name: string;
  readonly text: string;
}

const definedStatements = new Map<string, string>();

/**
 * Registers a statement text under a name. Throws if the name has another text.
 *
 * Array parameters are hidden from the planner in a subselect. Otherwise it would make a plan for the length of each
 * list and plan every call again, which takes longer than the call. Now it keeps one plan for all lengths.
 */
export function defineStatement(name: string, statement: string): PreparedStatement {
  const text = statement.replaceAll(/\$(\d+)::(\w+)\[\]/g, '(select $$$1::$2[])::$2[]');
  for (const [otherText, otherName] of definedStatements) {
    if (otherName === name && otherText !== text) throw new Error(`Two statements are called ${name}.`);
  }
  definedStatements.set(text, name);
  return { name, text };
}

export async function runStatement<Row>(
  reader: Reader,
  statement: PreparedStatement,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  const result = await reader.kysely.executeQuery<Row>(CompiledQuery.raw(statement.text, [...values]));
  return result.rows;
}

/** Selects PostgreSQL's time. May follow another statement in the same text. */
export const readClockText =
  'select extract(epoch from clock_timestamp())::double precision * 1000 as "nowMs"';

type Query = (config: string | QueryConfig, values?: unknown[]) => Promise<QueryResult>;

/** Sends a defined text by name, and returns only the time of a text that ends with `readClockText`. */
export class PreparedStatementClient extends Client {
  override query: Client['query'] = ((config: string | QueryConfig, ...rest: unknown[]) => {
    const query = super.query.bind(this) as Query & ((...all: unknown[]) => unknown);
    const [values] = rest;
    const name =
      typeof config === 'string' && Array.isArray(values) ? definedStatements.get(config) : undefined;
    if (name !== undefined && typeof config === 'string') {
      return query({ name, text: config, values: values as unknown[] });
    }
    const readsClock = typeof config === 'string' && config.endsWith(readClockText);
    return readsClock ? query(config).then(lastOf) : query(config, ...rest);
  }) as Client['query'];
}

/** A text with several statements returns an array of results. */
function lastOf(results: QueryResult | readonly QueryResult[]): QueryResult {
  const last = Array.isArray(results) ? (results as readonly QueryResult[]).at(-1) : (results as QueryResult);
  if (last === undefined) throw new Error('PostgreSQL returned no result.');
  return last;
}
