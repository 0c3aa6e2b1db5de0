import type { Reader } from '@millrace/platform/db';
import { sql } from 'kysely';

/** The amount in live mode that charges took from the operator's shortfall accounts, less reversals. A few rows. */
export async function sumAbsorbed(reader: Reader): Promise<bigint> {
  const { rows } = await sql<{ absorbed: string }>`
    select coalesce(-sum(balance_nano_usd), 0)::text as absorbed
      from ledger_accounts where org_id is null and kind = 'shortfall' and product is null and mode = 'live'
  `.execute(reader.kysely);
  return BigInt(rows[0]?.absorbed ?? '0');
}
