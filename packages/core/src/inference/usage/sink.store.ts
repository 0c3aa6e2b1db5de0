import type { Db, Tx } from '@millrace/platform/db';
import { sql } from 'kysely';
import type { UnreadableEvent } from './parse-usage.ts';

/** Claims the stream or renews the claim. False while another sink holds it. Uses the clock of the database. */
export async function claimStream(
  db: Db,
  claim: { readonly stream: string; readonly holder: string; readonly ttlMs: number },
): Promise<boolean> {
  const { rows } = await sql<{ stream: string }>`
    insert into usage_sinks as sink (stream, holder, held_until)
    values (${claim.stream}, ${claim.holder}, clock_timestamp() + ${claim.ttlMs} * interval '1 millisecond')
    on conflict (stream) do update set holder = excluded.holder, held_until = excluded.held_until
     where sink.holder = excluded.holder or sink.held_until <= clock_timestamp()
    returning stream
  `.execute(db.kysely);
  return rows.length > 0;
}

/** Lets another sink claim the stream at once. */
export async function releaseStream(db: Db, stream: string, holder: string): Promise<void> {
  await sql`
    update usage_sinks set held_until = clock_timestamp() where stream = ${stream} and holder = ${holder}
  `.execute(db.kysely);
}

/** Stores unreadable usage for an operator. */
export async function quarantineUsage(
  tx: Tx,
  stream: string,
  found: readonly (UnreadableEvent & { readonly seq: bigint })[],
): Promise<void> {
  if (found.length === 0) return;
  await sql`
    insert into usage_unreadable (stream, seq, position, problem, payload, recorded_at)
    select ${stream}, seq, position, problem, payload, ${tx.clock.now()}
      from unnest(${found.map(({ seq }) => seq.toString())}::bigint[],
                  ${found.map(({ position }) => position)}::integer[],
                  ${found.map(({ problem }) => problem)}::text[],
                  ${found.map(({ payload }) => payload)}::text[]) as found (seq, position, problem, payload)
    on conflict do nothing
  `.execute(tx.kysely);
}

/** Creates missing daily partitions from this day on, unless another worker is doing it. Returns how many it created. */
export async function makePartitions(db: Db, firstDay: Date, days: number): Promise<number> {
  const { rows } = await sql<{ made: number }>`
    select make_usage_partitions(${firstDay.toISOString().slice(0, 10)}::date, ${days}) as made
  `.execute(db.kysely);
  return rows[0]?.made ?? 0;
}
