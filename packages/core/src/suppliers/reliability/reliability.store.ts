import type { MachineState } from '@millrace/contract';
import type { Reader, Tables, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type EnrolmentId, type NodeId, type OrgId } from '@millrace/platform/ids';
import { isItemAvailable } from '@millrace/platform/loops';
import { ppm } from '@millrace/platform/money';
import { sql, type Selectable } from 'kysely';
import { countFaults, observedNodes, readStateChangesSince } from '../../fleet/index.ts';
import { placedInstances } from '../../rental-lookup/index.ts';
import { reliabilityLoop } from '../loops.ts';
import {
  zeroCounters,
  computeReliability,
  RELIABILITY_DAYS,
  type Reliability,
  type StateChange,
  type TimeSpan,
  type ReliabilityCounters,
} from './reliability.ts';

/** SQL of the measurements of machines and of their scores. */

/** Starts measuring enrolled machines from their enrolment on. Returns the number started. */
export async function startMeasuring(tx: Tx, limit: number): Promise<number> {
  const { score, uptime, starting } = computeReliability(zeroCounters);
  const { rows } = await sql<{ machine_id: string }>`
    insert into supplier_machine_trust (machine_id, measured_until, score_ppm, uptime_ppm, starting_ppm)
    select id, enrolled_at, ${score}, ${uptime}, ${starting}
      from supplier_machines as machine
     where stage = 'enrolled' and not exists (select from supplier_machine_trust where machine_id = machine.id)
     limit ${limit}
    on conflict do nothing
    returning machine_id
  `.execute(tx.kysely);
  return rows.length;
}

export interface DueMachine {
  readonly machineId: EnrolmentId;
  readonly nodeId: NodeId;
  readonly measuredUntil: Date;
  readonly status: MachineState;
  readonly watch: TimeSpan | null;
}

interface DueRow {
  machine_id: string;
  node_id: string;
  measured_until: Date;
  status: MachineState;
  watching_since: Date | null;
  beat_at: Date | null;
}

/** Machines that are due, longest first, without those that failed recently. */
export async function listDueMachines(
  reader: Reader,
  due: { readonly measuredBefore: Date; readonly now: Date; readonly limit: number },
): Promise<readonly EnrolmentId[]> {
  const { rows } = await sql<{ machine_id: string }>`
    select trust.machine_id
      from supplier_machine_trust as trust
      join supplier_machines as machine on machine.id = trust.machine_id and machine.stage = 'enrolled'
     where trust.measured_until < ${due.measuredBefore}
       and ${isItemAvailable(reliabilityLoop, sql<string>`trust.machine_id::text`, due.now)}
     order by trust.measured_until
     limit ${due.limit}
  `.execute(reader.kysely);
  return rows.map((row) => fromUuid('enr', row.machine_id));
}

/** Locks due machines; skips those that another worker measures. */
export async function lockDueMachines(
  tx: Tx,
  due: { readonly measuredBefore: Date; readonly machineIds: readonly EnrolmentId[] },
): Promise<readonly DueMachine[]> {
  const { rows } = await sql<DueRow>`
    select trust.machine_id, machine.node_id, trust.measured_until, node.status, node.watching_since, node.beat_at
      from supplier_machine_trust as trust
      join supplier_machines as machine on machine.id = trust.machine_id and machine.stage = 'enrolled'
      join ${observedNodes} as node on node.id = machine.node_id
     where trust.machine_id = any(${due.machineIds.map(toUuid)}::uuid[])
       and trust.measured_until < ${due.measuredBefore}
     order by trust.machine_id
       for update of trust skip locked
  `.execute(tx.kysely);
  return rows.map((row) => ({
    machineId: fromUuid('enr', row.machine_id),
    nodeId: fromUuid('nod', row.node_id),
    measuredUntil: row.measured_until,
    status: row.status,
    watch:
      row.watching_since === null || row.beat_at === null
        ? null
        : { from: row.watching_since, to: row.beat_at },
  }));
}

/** The changes of each node since its last measurement, oldest first, and the state before. */
export async function readStateChanges(
  reader: Reader,
  machines: readonly DueMachine[],
): Promise<ReadonlyMap<NodeId, { readonly before: MachineState; readonly changes: readonly StateChange[] }>> {
  const changed = await readStateChangesSince(
    reader,
    machines.map(({ nodeId, measuredUntil }) => ({ nodeId, since: measuredUntil })),
  );
  // Time before the node existed does not count.
  return new Map(
    [...changed].map(([id, changes]) => [id, { before: changes[0]?.from ?? 'node_registering', changes }]),
  );
}

export type StartCounts = Pick<ReliabilityCounters, 'starts' | 'failedStarts' | 'losses'>;

/** The maximum duration of a start. */
const START_MS = 6 * 3_600_000;

/** The smallest id of a rental that can have started at this time or later. */
export function minRentalIdAt(at: Date): string {
  const hex = Math.max(0, at.getTime() - START_MS)
    .toString(16)
    .padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** Starts and faults of each node since its last measurement, until `to`. */
export async function readStartCounts(
  reader: Reader,
  machines: readonly DueMachine[],
  to: Date,
): Promise<ReadonlyMap<NodeId, StartCounts>> {
  const columns = { node: 'asked.node_id', since: 'asked.since' };
  const { rows } = await sql<{ node_id: string; starts: bigint; failed_starts: bigint; losses: bigint }>`
    select asked.node_id,
           (select count(*) from ${placedInstances} as instance
             where instance.node_id = asked.node_id and instance.rental_id >= asked.first_id
               and instance.started_at > asked.since and instance.started_at <= ${to}) as starts,
           ${countFaults(columns, 'start', to)} as failed_starts,
           ${countFaults(columns, 'loss', to)} as losses
      from unnest(${machines.map(({ nodeId }) => toUuid(nodeId))}::uuid[],
                  ${machines.map(({ measuredUntil }) => measuredUntil)}::timestamptz[],
                  ${machines.map(({ measuredUntil }) => minRentalIdAt(measuredUntil))}::uuid[]) as asked (node_id, since, first_id)
  `.execute(reader.kysely);
  return new Map(
    rows.map((row) => [
      fromUuid('nod', row.node_id),
      { starts: Number(row.starts), failedStarts: Number(row.failed_starts), losses: Number(row.losses) },
    ]),
  );
}

export interface MeasuredMachine {
  readonly machineId: EnrolmentId;
  readonly figures: ReliabilityCounters;
}

/** Adds measurements to the day and returns all that count now. The caller holds the locks of `lockDueMachines`. */
export async function addMeasurements(
  tx: Tx,
  measured: readonly MeasuredMachine[],
  to: Date,
): Promise<readonly MeasuredMachine[]> {
  const rows = JSON.stringify(
    measured.map(({ machineId, figures }) => ({
      machine_id: toUuid(machineId),
      watched_ms: figures.watchedMs,
      up_ms: figures.upMs,
      starts: figures.starts,
      failed_starts: figures.failedStarts,
      losses: figures.losses,
    })),
  );
  await sql`
    insert into supplier_machine_days as known (machine_id, day, watched_ms, up_ms, starts, failed_starts, losses)
    select machine_id, (${to}::timestamptz at time zone 'UTC')::date, watched_ms, up_ms, starts, failed_starts, losses
      from json_to_recordset(${rows}::json) as measured
        (machine_id uuid, watched_ms bigint, up_ms bigint, starts integer, failed_starts integer, losses integer)
     where watched_ms > 0 or starts > 0 or failed_starts > 0 or losses > 0
    on conflict (machine_id, day) do update
       set watched_ms = known.watched_ms + excluded.watched_ms, up_ms = known.up_ms + excluded.up_ms,
           starts = known.starts + excluded.starts, failed_starts = known.failed_starts + excluded.failed_starts,
           losses = known.losses + excluded.losses
  `.execute(tx.kysely);
  const machineIds = measured.map(({ machineId }) => machineId);
  const found = await sumReliabilityDays(tx, machineIds, to);
  return measured.map(({ machineId }) => ({ machineId, figures: found.get(machineId) ?? zeroCounters }));
}

interface SumRow {
  machine_id: string;
  watched_ms: bigint;
  up_ms: bigint;
  starts: bigint;
  failed_starts: bigint;
  losses: bigint;
}

async function sumReliabilityDays(
  reader: Reader,
  machineIds: readonly EnrolmentId[],
  at: Date,
): Promise<ReadonlyMap<EnrolmentId, ReliabilityCounters>> {
  const { rows } = await sql<SumRow>`
    select machine_id, sum(watched_ms)::bigint as watched_ms, sum(up_ms)::bigint as up_ms, sum(starts) as starts,
           sum(failed_starts) as failed_starts, sum(losses) as losses
      from supplier_machine_days
     where machine_id = any (${machineIds.map(toUuid)}::uuid[])
       and day > (${at}::timestamptz at time zone 'UTC')::date - ${RELIABILITY_DAYS}::int
     group by machine_id
  `.execute(reader.kysely);
  return new Map(
    rows.map((row) => [
      fromUuid('enr', row.machine_id),
      {
        watchedMs: Number(row.watched_ms),
        upMs: Number(row.up_ms),
        starts: Number(row.starts),
        failedStarts: Number(row.failed_starts),
        losses: Number(row.losses),
      },
    ]),
  );
}

export async function saveReliability(
  tx: Tx,
  machines: readonly { readonly machineId: EnrolmentId; readonly reliability: Reliability }[],
  measuredUntil: Date,
): Promise<void> {
  const rows = JSON.stringify(
    machines.map(({ machineId, reliability: { score, uptime, starting } }) => ({
      machine_id: toUuid(machineId),
      score,
      uptime,
      starting,
    })),
  );
  await sql`
    update supplier_machine_trust as trust
       set measured_until = ${measuredUntil}, score_ppm = known.score, uptime_ppm = known.uptime,
           starting_ppm = known.starting
      from json_to_recordset(${rows}::json) as known (machine_id uuid, score integer, uptime integer, starting integer)
     where trust.machine_id = known.machine_id
  `.execute(tx.kysely);
}

export interface MachineReliability extends Reliability {
  readonly figures: ReliabilityCounters;
  readonly measuredUntil: Date;
  readonly quarantines: number;
}

/** With `orgId` null, of any organisation, for operators. Machines that were never measured are missing. */
export async function readReliability(
  reader: Reader,
  orgId: OrgId | null,
  machineIds: readonly EnrolmentId[],
): Promise<ReadonlyMap<EnrolmentId, MachineReliability>> {
  const org = orgId === null ? null : toUuid(orgId);
  const { rows } = await sql<Selectable<Tables['supplier_machine_trust']>>`
    select trust.* from supplier_machine_trust as trust
      join supplier_machines as machine on machine.id = trust.machine_id
     where trust.machine_id = any (${machineIds.map(toUuid)}::uuid[])
       and (${org}::uuid is null or machine.org_id = ${org}::uuid)
  `.execute(reader.kysely);
  const ids = rows.map((row) => fromUuid('enr', row.machine_id));
  const newest = rows.reduce((at, row) => (row.measured_until > at ? row.measured_until : at), new Date(0));
  const figures = await sumReliabilityDays(reader, ids, newest);
  const known = new Map<EnrolmentId, MachineReliability>();
  for (const row of rows) {
    const id = fromUuid('enr', row.machine_id);
    known.set(id, {
      score: ppm(row.score_ppm),
      uptime: ppm(row.uptime_ppm),
      starting: ppm(row.starting_ppm),
      figures: figures.get(id) ?? zeroCounters,
      measuredUntil: row.measured_until,
      quarantines: row.quarantines,
    });
  }
  return known;
}

export async function deleteOldDays(
  tx: Tx,
  { before, limit }: { readonly before: Date; readonly limit: number },
): Promise<number> {
  const { rows } = await sql<{ machine_id: string }>`
    delete from supplier_machine_days as known
     using (select machine_id, day from supplier_machine_days
             where day < (${before}::timestamptz at time zone 'UTC')::date limit ${limit}) as old
     where known.machine_id = old.machine_id and known.day = old.day
    returning known.machine_id
  `.execute(tx.kysely);
  return rows.length;
}
