import type { Reader, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type ClusterId, type OrgId, type RentalId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import {
  SAMPLE_PARTITIONS,
  samplePartitionOf,
  type SampleCounters,
  type Idleness,
  type Sample,
} from './idleness.ts';
import type { IdleRule } from '../model/rental.ts';

/** All SQL on samples and idleness of rentals. */

export interface SampleTarget {
  readonly rentalId: RentalId;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly attempt: number;
  readonly position: number;
  readonly externalId: string;
  readonly clusterId: ClusterId;
  readonly idle: IdleRule | null;
}

/** Claims shards that were not sampled since then. Concurrent workers skip locked shards. */
export async function claimSampleShards(
  tx: Tx,
  request: { readonly unsampledSince: Date; readonly limit: number },
): Promise<readonly number[]> {
  const { rows } = await sql<{ shard: number }>`
    update sample_shards set sampled_at = ${tx.clock.now()}
     where shard in (select shard from sample_shards where sampled_at <= ${request.unsampledSince}
                      order by sampled_at, shard limit ${request.limit} for update skip locked)
    returning shard
  `.execute(tx.kysely);
  return rows.map(({ shard }) => shard);
}

interface TargetRow {
  readonly rental_id: string;
  readonly org_id: string;
  readonly mode: Mode;
  readonly attempt: number;
  readonly position: number;
  readonly external_id: string;
  readonly cluster_id: string;
  readonly idle_after_seconds: number | null;
  readonly idle_action: IdleRule['action'] | null;
}

/** Monitored machines of these shards that are on, of all organisations. */
export async function readSampleTargets(
  reader: Reader,
  shards: readonly number[],
): Promise<readonly SampleTarget[]> {
  const { rows } = await sql<TargetRow>`
    select rental.id as rental_id, rental.org_id, rental.mode, machine.attempt, machine.position, machine.external_id,
           machine.cluster_id, rental.idle_after_seconds, rental.idle_action
      from rentals as rental
      join rental_machines as machine on machine.rental_id = rental.id and machine.attempt = rental.attempt
     where rental.wire_id & 63 = any(${[...shards]}::int[])
       and rental.status = 'Running' and rental.power = 'on'
       and (rental.monitoring or rental.idle_after_seconds is not null)
       and machine.state = 'open'
  `.execute(reader.kysely);
  return rows.map((row) => ({
    rentalId: fromUuid('rnt', row.rental_id),
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    attempt: row.attempt,
    position: row.position,
    externalId: row.external_id,
    clusterId: fromUuid('cls', row.cluster_id),
    idle:
      row.idle_after_seconds === null || row.idle_action === null
        ? null
        : { afterSeconds: row.idle_after_seconds, action: row.idle_action },
  }));
}

export interface RentalSample extends Pick<SampleTarget, 'rentalId' | 'orgId' | 'mode'> {
  readonly sample: Sample;
}

/** One statement. Existing samples stay unchanged. */
export async function insertSamples(tx: Tx, taken: readonly RentalSample[]): Promise<void> {
  const rows = taken.map(({ rentalId, orgId, mode, sample }) => ({
    slot: samplePartitionOf(sample.at),
    rental_id: toUuid(rentalId),
    attempt: sample.attempt,
    position: sample.position,
    org_id: toUuid(orgId),
    mode,
    at: sample.at.toISOString(),
    cpu_seconds: plausibleOrNull(sample.cpuSeconds),
    ram_used_bytes: roundedOrNull(sample.ramUsedBytes),
    disk_used_bytes: roundedOrNull(sample.diskUsedBytes),
    network_in_bytes: roundedOrNull(sample.networkInBytes),
    network_out_bytes: roundedOrNull(sample.networkOutBytes),
    gpu_addresses: sample.gpus?.map(({ pciAddress }) => pciAddress) ?? null,
    gpu_percents: sample.gpus?.map(({ utilisationPercent }) => percentOrNull(utilisationPercent)) ?? null,
  }));
  await sql`
    insert into rental_samples
    select * from jsonb_populate_recordset(null::rental_samples, ${JSON.stringify(rows)}::jsonb)
    on conflict do nothing
  `.execute(tx.kysely);
}

/** Implausible values count as not measured, so that one faulty engine cannot block the samples of others. */
function plausibleOrNull(value: number | null): number | null {
  return value !== null && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : null;
}

function roundedOrNull(value: number | null): number | null {
  const sane = plausibleOrNull(value);
  return sane === null ? null : Math.round(sane);
}

function percentOrNull(value: number | null): number | null {
  const whole = roundedOrNull(value);
  return whole !== null && whole <= 100 ? whole : null;
}

interface IdlenessRow {
  readonly rental_id: string;
  readonly sampled_at: Date;
  readonly idle_since: Date;
  readonly counters: unknown;
}

/** Rentals that were never sampled are missing from the result. */
export async function readIdleness(
  reader: Reader,
  rentals: readonly Pick<SampleTarget, 'rentalId' | 'orgId'>[],
): Promise<ReadonlyMap<RentalId, Idleness>> {
  const { rows } = await sql<IdlenessRow>`
    select idleness.rental_id, idleness.sampled_at, idleness.idle_since, idleness.counters
      from unnest(${rentals.map(({ rentalId }) => toUuid(rentalId))}::uuid[],
                  ${rentals.map(({ orgId }) => toUuid(orgId))}::uuid[]) as wanted (rental_id, org_id)
      join rental_idleness as idleness using (rental_id, org_id)
  `.execute(reader.kysely);
  return new Map(
    rows.map((row) => [
      fromUuid('rnt', row.rental_id),
      // Only `saveIdleness` writes the counters.
      {
        sampledAt: row.sampled_at,
        idleSince: row.idle_since,
        counters: row.counters as readonly SampleCounters[],
      },
    ]),
  );
}

export interface RentalIdleness extends Pick<SampleTarget, 'rentalId' | 'orgId' | 'mode'> {
  readonly idleness: Idleness;
}

/** One statement. Newer rows of other workers stay unchanged. */
export async function saveIdleness(tx: Tx, watched: readonly RentalIdleness[]): Promise<void> {
  const rows = watched.map(({ rentalId, orgId, mode, idleness }) => ({
    rental_id: toUuid(rentalId),
    org_id: toUuid(orgId),
    mode,
    sampled_at: idleness.sampledAt.toISOString(),
    idle_since: idleness.idleSince.toISOString(),
    counters: idleness.counters,
  }));
  await sql`
    insert into rental_idleness as known
    select * from jsonb_populate_recordset(null::rental_idleness, ${JSON.stringify(rows)}::jsonb)
     order by 1
    on conflict (rental_id) do update
       set sampled_at = excluded.sampled_at, idle_since = excluded.idle_since, counters = excluded.counters
     where known.sampled_at < excluded.sampled_at
  `.execute(tx.kysely);
}

/** Empties partitions of past days, and returns the number that had rows. */
export async function deleteOldSamples(
  tx: Tx,
  { before, limit }: { readonly before: Date; readonly limit: number },
): Promise<number> {
  let emptied = 0;
  const today = samplePartitionOf(tx.clock.now());
  for (let slot = 0; slot < SAMPLE_PARTITIONS; slot += 1) {
    // Rows are only appended, so the first one is the oldest.
    const { rows } = await sql<{ at: Date }>`
      select at from rental_samples where slot = ${slot} limit 1
    `.execute(tx.kysely);
    if (rows[0] === undefined || rows[0].at >= before) continue;
    emptied += 1;
    if (slot !== today) await sql`truncate ${sql.table(`rental_samples_${slot}`)}`.execute(tx.kysely);
    else await deleteSampleRows(tx, { slot, before, limit });
  }
  return emptied;
}

/** For a partition that is in use again because it was not emptied in time. */
async function deleteSampleRows(
  tx: Tx,
  { slot, before, limit }: { readonly slot: number; readonly before: Date; readonly limit: number },
): Promise<void> {
  await sql`
    delete from rental_samples
     where slot = ${slot} and (rental_id, at, position) in (
       select rental_id, at, position from rental_samples where slot = ${slot} and at < ${before} limit ${limit})
  `.execute(tx.kysely);
}

export interface SeriesQuery {
  readonly rentalId: RentalId;
  readonly slots: readonly number[];
  readonly from: Date;
  readonly until: Date;
  readonly stepSeconds: number;
  readonly longestGapMs: number;
}

/** One step of one machine. Null: not measured. */
export interface MachineMetricBucket {
  readonly position: number;
  readonly step: number;
  readonly cpuCores: number | null;
  readonly ramUsedBytes: number | null;
  readonly diskUsedBytes: number | null;
  readonly networkInPerSecond: number | null;
  readonly networkOutPerSecond: number | null;
}

/** Rates between consecutive samples without a gap or counter reset. A step has the mean of the samples that end in it. */
export async function readMachineBuckets(
  reader: Reader,
  orgId: OrgId,
  query: SeriesQuery,
): Promise<readonly MachineMetricBucket[]> {
  const { rentalId, slots, from, until, stepSeconds, longestGapMs } = query;
  const gap = sql`${longestGapMs} * interval '1 millisecond'`;
  const { rows } = await sql<MachineMetricBucket>`
    with sample as (
      select position, at, ram_used_bytes, disk_used_bytes, cpu_seconds, network_in_bytes, network_out_bytes,
             lag(at) over before as at_before, lag(cpu_seconds) over before as cpu_before,
             lag(network_in_bytes) over before as in_before, lag(network_out_bytes) over before as out_before
        from rental_samples
       where slot = any(${[...slots]}::smallint[]) and rental_id = ${toUuid(rentalId)} and org_id = ${toUuid(orgId)}
         and at >= ${from}::timestamptz - ${gap} and at < ${until}
      window before as (partition by attempt, position order by at)
    ), gained as (
      select position, floor(extract(epoch from at - ${from}::timestamptz) / ${stepSeconds}::int)::int as step, ram_used_bytes, disk_used_bytes,
             extract(epoch from at - at_before)::double precision as seconds,
             case when cpu_seconds >= cpu_before and at_before >= at - ${gap} then cpu_seconds - cpu_before end as cpu,
             case when network_in_bytes >= in_before and at_before >= at - ${gap}
                  then (network_in_bytes - in_before)::double precision end as received,
             case when network_out_bytes >= out_before and at_before >= at - ${gap}
                  then (network_out_bytes - out_before)::double precision end as sent
        from sample where at >= ${from}
    )
    select position, step,
           sum(cpu) / sum(seconds) filter (where cpu is not null) as "cpuCores",
           avg(ram_used_bytes)::double precision as "ramUsedBytes",
           avg(disk_used_bytes)::double precision as "diskUsedBytes",
           sum(received) / sum(seconds) filter (where received is not null) as "networkInPerSecond",
           sum(sent) / sum(seconds) filter (where sent is not null) as "networkOutPerSecond"
      from gained group by position, step
  `.execute(reader.kysely);
  return rows;
}

export interface GpuMetricBucket {
  readonly position: number;
  readonly address: string;
  readonly step: number;
  readonly percent: number | null;
}

export async function readGpuBuckets(
  reader: Reader,
  orgId: OrgId,
  query: SeriesQuery,
): Promise<readonly GpuMetricBucket[]> {
  const { rentalId, slots, from, until, stepSeconds } = query;
  const { rows } = await sql<GpuMetricBucket>`
    select sample.position, gpu.address,
           floor(extract(epoch from sample.at - ${from}::timestamptz) / ${stepSeconds}::int)::int as step,
           avg(gpu.percent)::double precision as percent
      from rental_samples as sample
     cross join lateral unnest(sample.gpu_addresses, sample.gpu_percents) as gpu (address, percent)
     where sample.slot = any(${[...slots]}::smallint[]) and sample.rental_id = ${toUuid(rentalId)}
       and sample.org_id = ${toUuid(orgId)} and sample.at >= ${from} and sample.at < ${until}
     group by 1, 2, 3
  `.execute(reader.kysely);
  return rows;
}
