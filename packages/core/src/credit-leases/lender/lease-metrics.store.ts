import type { Reader } from '@millrace/platform/db';
import { sql } from 'kysely';

/** Amounts and counts of all credit leases that are not closed. */
export interface LeaseFigures {
  readonly open: number;
  readonly closing: number;
  /** Granted credit that is neither recalled nor settled. */
  readonly leasedNanoUsd: bigint;
  readonly oldestClosingAt: Date | null;
}

/** Reads the partial indexes of open and closing leases: one row per organisation that calls models now. */
export async function readLeaseFigures(reader: Reader): Promise<LeaseFigures> {
  const { rows } = await sql<{ open: bigint; closing: bigint; leased: string; oldest: Date | null }>`
    select count(*) filter (where state = 'open') as open,
           count(*) filter (where state = 'closing') as closing,
           coalesce(sum(greatest(granted_nano_usd - recalled_nano_usd - settled_nano_usd, 0)), 0)::text as leased,
           min(closing_at) filter (where state = 'closing') as oldest
      from pot_leases where state = 'open' or state = 'closing'
  `.execute(reader.kysely);
  const [row] = rows;
  return {
    open: Number(row?.open ?? 0n),
    closing: Number(row?.closing ?? 0n),
    leasedNanoUsd: BigInt(row?.leased ?? '0'),
    oldestClosingAt: row?.oldest ?? null,
  };
}

export interface UnsettledUsage {
  readonly events: number;
  readonly oldestAt: Date | null;
}

/** Counts deferred events up to this number, because a backlog can have millions. */
const COUNT_MAX = 100_000;

export async function readUnsettledUsage(reader: Reader): Promise<UnsettledUsage> {
  const { rows } = await sql<{ events: bigint; oldest: Date | null }>`
    select count(*) as events, min(recorded_at) as oldest
      from (select recorded_at from usage_deferred where kind = 'usage' limit ${COUNT_MAX}) as deferred
  `.execute(reader.kysely);
  return { events: Number(rows[0]?.events ?? 0n), oldestAt: rows[0]?.oldest ?? null };
}
