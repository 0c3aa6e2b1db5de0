import { sql } from 'kysely';
import type { Probe } from './run-probe.store.ts';

/** Checks the rate of volumes, from their rows, against their meters. Bounded by the existing volumes. */
export function volumeProbe(orgUuid: string | null): Probe {
  const ofOwner = orgUuid === null ? sql`true` : sql`volume.org_id = ${orgUuid}::uuid`;
  return {
    rows: sql`
      select 'volume:' || volume.wire_id as subject, volume.org_id,
             (volume.price ->> 'rateNanoUsdPerHour')::numeric + coalesce(kept.rate, 0) as rate,
             coalesce(running.rate, 0) as metered
        from volumes as volume
        left join lateral (
          select sum((snapshot.price ->> 'rateNanoUsdPerHour')::numeric) as rate from volume_snapshots as snapshot
           where snapshot.volume_id = volume.id and snapshot.status = 'ready') as kept on true
        left join lateral (
          select sum(meter.rate_nano_usd_per_hour) as rate from meters as meter
           where meter.org_id = volume.org_id and meter.cause_kind = 'volume' and meter.cause_id = volume.wire_id::text
             and meter.state <> 'closed') as running on true
       where volume.phase in ('live', 'frozen', 'leaving') and ${ofOwner}`,
    about: 'thing',
    checks: [{ name: 'volume_rate', expected: sql`q.rate`, actual: sql`q.metered` }],
  };
}

/** Open holds without a purpose of their volume, also if the volume is deleted. Bounded by the open holds. */
export function volumeHoldProbe(orgUuid: string | null): Probe {
  const ofOwner = orgUuid === null ? sql`true` : sql`hold.org_id = ${orgUuid}::uuid`;
  return {
    rows: sql`
      select 'volume:' || hold.cause_id as subject, hold.org_id,
             count(*) filter (where coalesce(ordered.id, growing.id, snapshot.id, meter.id) is null) as loose
        from ledger_holds as hold
        left join volumes as ordered on ordered.hold_id = hold.id
        left join volumes as growing on growing.grow_hold_id = hold.id
        left join volume_snapshots as snapshot on snapshot.hold_id = hold.id
        left join meters as meter on meter.hold_id = hold.id and meter.state <> 'closed'
       where hold.closed_at is null and hold.cause_kind = 'volume' and ${ofOwner}
       group by hold.org_id, hold.cause_id`,
    about: 'thing',
    checks: [{ name: 'volume_holds', wrong: sql`q.loose > 0`, expected: sql`'none'`, actual: sql`q.loose` }],
  };
}
