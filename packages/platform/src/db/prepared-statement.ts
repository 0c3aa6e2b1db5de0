import { CompiledQuery } from 'kysely';
import { Client, type QueryConfig, type QueryResult } from 'pg';
import type { Reader } from './db.ts';

/**
 * Statements that a connection parses once and then runs by name. For the few that carry most of the load: PostgreSQL
 * spends several times as long on understanding such a statement as on running it. They name every column they answer,
 * so a migration that adds columns does not disturb connections that know them already.
 */
export interface PreparedStatement {
  readonly name: string;
  readonly text: string;
}

const definedStatements = new Map<string, string>();

/**
 * Makes the text known under a name. The same text may be defined again; another one under the name may not.
 *
 * Array parameters are put out of the planner's sight. It would otherwise see that a list is short today, make a plan
 * for that, and so plan each call anew, which takes longer than the call. One plan for lists of any length is kept.
 */
export function defineStatement(name: string, statement: string): PreparedStatement {
  const text = statement.replaceAll(/\$(\d+)::(\w+)\[\]/g, '(select $$$1::$2[])::$2[]');
  for (const [otherText, otherName] of definedStatements) {
    if (otherName === name && otherText !== text) throw new Error(`Two statements are called ${name}.`);
  }
  definedStatements.set(text, name);
  return { name, text };
}

/** Runs a prepared statement where the reader is: in its transaction, or on the pool. */
export async function runStatement<Row>(
  reader: Reader,
  statement: PreparedStatement,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  const result = await reader.kysely.executeQuery<Row>(CompiledQuery.raw(statement.text, [...values]));
  return result.rows;
}

/** Asks PostgreSQL for its time. May follow another statement in the same text. */
export const readClockText =
  'select extract(epoch from clock_timestamp())::double precision * 1000 as "nowMs"';

type Query = (config: string | QueryConfig, values?: unknown[]) => Promise<QueryResult>;

/**
 * The driver's client, except that a text known here is sent by its name, and that a text which ends by asking the time
 * answers the time alone, whatever stands before the question.
 */
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

/** A text of several statements has an array of results. */
function lastOf(results: QueryResult | readonly QueryResult[]): QueryResult {
  const last = Array.isArray(results) ? (results as readonly QueryResult[]).at(-1) : (results as QueryResult);
  if (last === undefined) throw new Error('PostgreSQL answered nothing.');
  return last;
}
