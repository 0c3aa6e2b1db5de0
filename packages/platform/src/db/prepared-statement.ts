import { CompiledQuery } from 'kysely';
import type { Reader, Tx } from './db.ts';

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

export function statementNameOf(text: string): string | undefined {
  return definedStatements.get(text);
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

/** The timeout of the statements of this transaction. The connection waits as long for their responses. */
export const longStatementsText = "select set_config('statement_timeout', $1, true)";

export async function allowLongStatements(tx: Tx, timeoutMs: number): Promise<void> {
  await tx.kysely.executeQuery(CompiledQuery.raw(longStatementsText, [String(timeoutMs)]));
}
