import type { Reader } from '@millrace/platform/db';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { sql } from 'kysely';

/** Applications, machines and payouts that the operator has not decided. */
export interface PendingDecisions {
  readonly suppliers: number;
  readonly machines: number;
  readonly payouts: number;
  readonly payoutAmount: NanoUsd;
}

/** Reads only pending rows: each of the three tables has an index for them. */
export async function countPendingDecisions(reader: Reader): Promise<PendingDecisions> {
  const { rows } = await sql<{ suppliers: bigint; machines: bigint; payouts: bigint; amount: string }>`
    select (select count(*) from suppliers where status = 'applied') as suppliers,
           (select count(*) from supplier_machines
             where approval = 'pending' and stage in ('testing', 'enrolled')) as machines,
           count(*) as payouts, coalesce(sum(amount_nano_usd), 0)::text as amount
      from supplier_payouts where status = 'requested'
  `.execute(reader.kysely);
  const [row] = rows;
  return {
    suppliers: Number(row?.suppliers ?? 0n),
    machines: Number(row?.machines ?? 0n),
    payouts: Number(row?.payouts ?? 0n),
    payoutAmount: nanoUsd(BigInt(row?.amount ?? '0')),
  };
}
