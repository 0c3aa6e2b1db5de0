import { Client, type QueryConfig } from 'pg';

/** Records statements and explains their plans, for tests that refuse plans which do not scale. */

export interface RecordedStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Plain inserts are skipped because they read nothing. */
const reads = /^\s*(select|with|update|delete)\b/i;

/** Every distinct statement that this process sends during the work, with the values of its first use. */
export async function recordStatements(work: () => Promise<unknown>): Promise<readonly RecordedStatement[]> {
  const sent = new Map<string, RecordedStatement>();
  const { query } = Client.prototype;
  const send = query as (this: Client, ...all: unknown[]) => unknown;
  Client.prototype.query = function recording(
    this: Client,
    config: string | QueryConfig,
    ...rest: unknown[]
  ) {
    const text = typeof config === 'string' ? config : config.text;
    const values = typeof config === 'string' ? rest[0] : config.values;
    if (reads.test(text) && !sent.has(text))
      sent.set(text, { text, values: Array.isArray(values) ? values : [] });
    return send.call(this, config, ...rest);
  } as typeof query;
  try {
    await work();
  } finally {
    Client.prototype.query = query;
  }
  return [...sent.values()];
}

/** The number of statements that this process sends during the work, including transaction control. */
export async function countStatements(work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const { query } = Client.prototype;
  const send = query as (this: Client, ...all: unknown[]) => unknown;
  Client.prototype.query = function counting(this: Client, ...all: unknown[]) {
    count += 1;
    return send.apply(this, all);
  } as typeof query;
  try {
    await work();
  } finally {
    Client.prototype.query = query;
  }
  return count;
}

export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly 'Actual Loops'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** The generic plan with measurements of one rolled-back execution. A custom plan would hide the cached one. */
export async function explainGenericPlan(
  client: Client,
  { text, values }: RecordedStatement,
): Promise<readonly PlanNode[]> {
  await client.query('begin');
  try {
    await client.query('set local plan_cache_mode = force_generic_plan');
    await client.query(`prepare explained as ${text}`);
    const given =
      values.length === 0 ? '' : `(${values.map((value) => literalOf(client, value)).join(', ')})`;
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `explain (analyze, format json) execute explained${given}`,
    );
    const plan = rows[0]?.['QUERY PLAN'][0].Plan;
    if (plan === undefined) throw new Error('PostgreSQL returned no plan.');
    return [...nodesOf(plan)];
  } finally {
    await client.query('rollback');
    await client.query('deallocate all');
  }
}

function* nodesOf(plan: PlanNode): Generator<PlanNode> {
  yield plan;
  for (const below of plan.Plans ?? []) yield* nodesOf(below);
}

function literalOf(client: Client, value: unknown): string {
  if (value === null || value === undefined) return 'null';
  return client.escapeLiteral(Array.isArray(value) ? `{${value.map(elementOf).join(',')}}` : textOf(value));
}

const elementOf = (value: unknown): string =>
  value === null ? 'NULL' : `"${textOf(value).replaceAll(/["\\]/g, '\\$&')}"`;

const textOf = (value: unknown): string => (value instanceof Date ? value.toISOString() : String(value));
