import type { Reader } from '@millrace/platform/db';
import { fromUuid, type OrgId } from '@millrace/platform/ids';
import { nanoUsd, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import { sql } from 'kysely';
import { earningsByResource, sumMaturingEarnings, type TransferPeriod } from '../../ledger/index.ts';
import { suppliedResources } from '../../metering/index.ts';
import { placedInstances } from '../../rental-lookup/index.ts';
import { earningsByMachine, type DailyEarnings, type MachineEarnings } from './earnings.ts';

/** Reads earnings from meters and the ledger, for display only. */

interface EarningsRow {
  node_id: string | null;
  day: Date;
  gpu_ms: string;
  fee: string;
  earned: string;
}

/** By machine: amounts posted in the period, less amounts returned or refunded in it. */
export async function sumEarnings(
  reader: Reader,
  orgId: OrgId,
  period: TransferPeriod,
): Promise<readonly MachineEarnings[]> {
  return earningsByMachine(await listDailyEarnings(reader, orgId, period));
}

/** By machine and day (UTC): amounts posted in the period, less amounts returned or refunded in it. */
export async function listDailyEarnings(
  reader: Reader,
  orgId: OrgId,
  period: TransferPeriod,
): Promise<readonly DailyEarnings[]> {
  const { rows } = await sql<EarningsRow>`
    with by_thing as (${earningsByResource(orgId, period, suppliedResources(orgId, period))})
    select instance.node_id, by_thing.day, trim_scale(sum(gpu_ms))::text as gpu_ms, sum(earned)::text as earned, sum(fee)::text as fee
      from by_thing
      -- The ledger identifies resources by their wire ids.
      left join ${placedInstances} as instance
        on instance.wire_id = case when by_thing.cause_id ~ '^[1-9][0-9]{0,9}$' then by_thing.cause_id::bigint end
     group by instance.node_id, by_thing.day
    having sum(gpu_ms) <> 0 or sum(earned) <> 0 or sum(fee) <> 0
     order by instance.node_id, by_thing.day
  `.execute(reader.kysely);
  return rows.map((row) => ({
    machineId: row.node_id === null ? null : fromUuid('nod', row.node_id),
    day: row.day,
    gpuMs: BigInt(row.gpu_ms),
    gross: nanoUsd(BigInt(row.earned) + BigInt(row.fee)),
    fee: nanoUsd(BigInt(row.fee)),
    earned: nanoUsd(BigInt(row.earned)),
  }));
}

/**
 * The earnings of the holding period. A refund or reversal reduces the earning that it undoes, so refunds of older
 * earnings are not counted here; they reduce the balance. Time that a meter returns reduces the meter's newest earnings
 * first. The excess over those of the period reduces matured earnings, so a negative running total is not carried over.
 */
export async function sumMaturing(
  reader: Reader,
  orgId: OrgId,
  { now, holdMs }: { readonly now: Date; readonly holdMs: number },
): Promise<NanoUsd> {
  if (holdMs === 0) return zeroUsd;
  const from = new Date(now.getTime() - holdMs);
  // Includes postings of this moment by processes whose clock is slightly ahead.
  const until = new Date(now.getTime() + 60_000);
  const period = { from, until };
  return sumMaturingEarnings(reader, orgId, period, suppliedResources(orgId, period));
}
