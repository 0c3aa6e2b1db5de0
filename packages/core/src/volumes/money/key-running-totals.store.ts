import type { Reader } from '@millrace/platform/db';
import { toUuid, type KeyId, type OrgId, type VolumeId } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { sql } from 'kysely';
import { rotationChain } from '../../identity/index.ts';
import { runningRentalTotals } from '../../rental-lookup/index.ts';

/** The number of rentals of a key and its predecessors, and the hourly cost of their rentals and volumes. */
export interface KeyRunningTotals {
  readonly liveRentals: number;
  readonly perHour: NanoUsd;
}

/**
 * Includes all keys of the rotation chain, so that a rotation does not reset limits. Each rental counts with its most
 * expensive term and each volume with its requested size, so that resumed or growing resources stay within the limit.
 * `beside` adds one volume of another key. Exact only while the organisation is locked.
 */
export async function readKeyRunningTotals(
  reader: Reader,
  orgId: OrgId,
  keyId: KeyId,
  beside: VolumeId | null = null,
): Promise<KeyRunningTotals> {
  const { rows } = await sql<{ live: bigint; rentals: bigint | null; volumes: bigint | null }>`
    with used as (${rotationChain(orgId, keyId)})
    select live, rentals, volumes
      from ${runningRentalTotals(orgId, sql`used`)} as of_rentals,
           (select sum((coalesce(volume.grow_price, volume.price) ->> 'rateNanoUsdPerHour')::bigint
                       + coalesce(kept.rate, 0))::bigint as volumes
              from volumes as volume
              cross join lateral (select sum((snapshot.price ->> 'rateNanoUsdPerHour')::bigint) as rate
                                    from volume_snapshots as snapshot
                                   where snapshot.volume_id = volume.id
                                     and snapshot.status in ('creating', 'ready')) as kept
             where volume.org_id = ${toUuid(orgId)} and volume.phase in ('provisioning', 'live', 'frozen')
               and (volume.key_id in (select id from used)
                    or volume.id = ${beside === null ? null : toUuid(beside)}::uuid)) as of_volumes`.execute(
    reader.kysely,
  );
  const [row] = rows;
  return {
    liveRentals: Number(row?.live ?? 0n),
    perHour: nanoUsd((row?.rentals ?? 0n) + (row?.volumes ?? 0n)),
  };
}
