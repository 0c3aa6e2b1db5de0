import type { Reader } from '@millrace/platform/db';
import { toUuid, type KeyId, type OrgId, type VolumeId } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { sql } from 'kysely';
import { rotationChain } from '../../identity/index.ts';
import { runningRentalTotals } from '../../rental-lookup/index.ts';

/** What a key, and those it replaced, run: how many rentals, and what they and the volumes come to by the hour. */
export interface KeyRunningTotals {
  readonly liveRentals: number;
  readonly perHour: NanoUsd;
}

/**
 * What the rentals and volumes of a key come to that have not ended and are not on their way out, together with those of
 * every key that it replaced or that replaced it: a rotation makes no room. Of each rental its dearest term counts, and of
 * each volume the size that it was asked to become, so that what was stopped, or is about to go on at another price, has
 * its room when it does. One volume may be counted whoever made it. Exact only while nobody else creates for the
 * organisation: its turn is taken first.
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
