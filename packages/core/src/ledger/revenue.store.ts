import type { Reader } from '@millrace/platform/db';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { sql } from 'kysely';
import { firstIdAfter, firstIdFrom } from './model/id-ranges.ts';
import type { Product } from './model/ledger.ts';
import { inPeriod, type TransferPeriod } from './transfer-reports.store.ts';

export interface RevenueSum {
  /** For example `2026-11-16`, in UTC. */
  readonly day: string;
  /** The product of a revenue account; null for the platform fee. */
  readonly product: Product | null;
  readonly amount: NanoUsd;
}

/**
 * Sums the operator's revenue and fees in live mode by day and product, less refunds. It reads the transfers and entries
 * of the period by primary key, so callers limit the period and cache the result.
 */
export async function sumRevenue(reader: Reader, period: TransferPeriod): Promise<readonly RevenueSum[]> {
  const { rows } = await sql<{ day: string; product: Product | null; amount: string }>`
    select to_char(t.occurred_at at time zone 'UTC', 'YYYY-MM-DD') as day, account.product,
           sum(entry.amount_nano_usd)::text as amount
      from all_ledger_transfers t
      join all_ledger_entries entry on entry.transfer_id = t.id
      join ledger_accounts account on account.id = entry.account_id
     where t.mode = 'live' and ${inPeriod(period)}
       and entry.transfer_id >= ${firstIdFrom(period.from)} and entry.transfer_id < ${firstIdAfter(period.until)}
       and account.org_id is null and account.mode = 'live' and account.kind in ('revenue', 'platform_fee')
     group by 1, 2
     order by 1
  `.execute(reader.kysely);
  return rows.map(({ day, product, amount }) => ({ day, product, amount: nanoUsd(BigInt(amount)) }));
}
