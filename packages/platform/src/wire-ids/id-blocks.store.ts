import { sql } from 'kysely';
import type { Tx } from '../db/index.ts';
import { idsOfBlock } from './wire-ids.ts';

/** The next id of every block as JSON, by kind and block: `{"rental/7": 7340033}`. Null without blocks. */
export const nextWireIds = sql<Record<string, number> | null>`(
  select jsonb_object_agg(kind || '/' || block, next_id) from id_blocks)`;

/** The copy of a counter may be a second old; ids are cheap and gaps harmless. */
const WIRE_ID_SLACK = 10_000;

/** Skips ids below these counters, which have the keys of `nextWireIds`: they may have been allocated already. */
export async function raiseWireIds(tx: Tx, wireIds: Readonly<Record<string, number>>): Promise<void> {
  for (const [name, next] of Object.entries(wireIds)) {
    const [kind, block] = name.split('/');
    const end = idsOfBlock(Number(block)).last + 1;
    await sql`
      insert into id_blocks (kind, block, cell, next_id)
      values (${kind}, ${Number(block)}, ${Number(block)}::int % 64, ${Math.min(end, next + WIRE_ID_SLACK)})
      on conflict (kind, block) do update set next_id = greatest(id_blocks.next_id, excluded.next_id)
    `.execute(tx.kysely);
  }
}
