import type { Reader } from '@millrace/platform/db';
import { toUuid, type KeyId, type OrgId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import { sql } from 'kysely';
import type { KeyLoad } from './create.ts';

/**
 * What the rentals of a key come to that have not ended and are not on their way out, together with those of every key
 * that it replaced or that replaced it: a rotation makes no room. Of each rental its dearest term counts, so that what
 * was stopped, or is about to go on at another price, has its room when it does. Exact only while nobody else creates
 * for the organisation: its turn is taken first.
 */
export async function readKeyLoad(reader: Reader, orgId: OrgId, keyId: KeyId): Promise<KeyLoad> {
  const { rows } = await sql<{ live: bigint; per_hour: bigint | null }>`
    with recursive older as (
      select id, rotated_from from api_keys where org_id = ${toUuid(orgId)} and id = ${toUuid(keyId)}
      union select before.id, before.rotated_from from older join api_keys as before on before.id = older.rotated_from
    ), newer as (
      select id from api_keys where org_id = ${toUuid(orgId)} and id = ${toUuid(keyId)}
      union select after.id from newer join api_keys as after on after.rotated_from = newer.id
    )
    select count(*) as live, sum(dearest.rate)::bigint as per_hour
      from (select id from older union select id from newer) as used
      join rentals as rental on rental.key_id = used.id and rental.org_id = ${toUuid(orgId)}
       and rental.status <> 'Terminated' and rental.status in ('Pending', 'Running', 'Unknown')
      cross join lateral (select max((term.price ->> 'rateNanoUsdPerHour')::bigint) as rate
                            from rental_terms as term where term.rental_id = rental.id) as dearest`.execute(
    reader.kysely,
  );
  return { liveRentals: Number(rows[0]?.live ?? 0n), perHour: nanoUsd(rows[0]?.per_hour ?? 0n) };
}
