import { sql } from 'kysely';
import type { Probe } from './probe.store.ts';

/**
 * What volumes should cost and have set aside, by their own rows, against their meters and holds. Bounded by the volumes
 * that there are.
 */
export function volumeProbe(orgUuid: string | null): Probe {
  const ofOwner = orgUuid === null ? sql`true` : sql`volume.org_id = ${orgUuid}::uuid`;
  return {
    rows: sql`
      select 'volume:' || volume.wire_id as subject, volume.org_id, volume.phase,
             (volume.price ->> 'rateNanoUsdPerHour')::numeric + coalesce(kept.rate, 0) as rate,
             coalesce(running.rate, 0) as metered, coalesce(loose.held, 0) as loose
        from volumes as volume
        left join lateral (
          select sum((snapshot.price ->> 'rateNanoUsdPerHour')::numeric) as rate from volume_snapshots as snapshot
           where snapshot.volume_id = volume.id and snapshot.status = 'ready') as kept on true
        left join lateral (
          select sum(meter.rate_nano_usd_per_hour) as rate from meters as meter
           where meter.org_id = volume.org_id and meter.cause_kind = 'volume' and meter.cause_id = volume.wire_id::text
             and meter.state <> 'closed') as running on true
        left join lateral (
          select count(*) as held from ledger_holds as hold
           where hold.org_id = volume.org_id and hold.cause_kind = 'volume' and hold.cause_id = volume.wire_id::text
             and hold.closed_at is null and hold.id is distinct from volume.hold_id
             and hold.id is distinct from volume.grow_hold_id
             and not exists (select 1 from volume_snapshots as snapshot
                              where snapshot.volume_id = volume.id and snapshot.hold_id = hold.id)
             and not exists (select 1 from meters as meter where meter.hold_id = hold.id and meter.state <> 'closed')
        ) as loose on true
       where volume.phase <> 'purged' and ${ofOwner}`,
    checks: [
      {
        name: 'volume_rate',
        about: 'thing',
        judges: sql`q.phase in ('live', 'frozen', 'leaving')`,
        wrong: sql`q.metered <> q.rate`,
        expected: sql`q.rate`,
        actual: sql`q.metered`,
      },
      {
        name: 'volume_holds',
        about: 'thing',
        wrong: sql`q.loose > 0`,
        expected: sql`'none'`,
        actual: sql`q.loose`,
      },
    ],
  };
}
