import type { MachineState } from '@millrace/contract';
import type { Reader, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type EnrolmentId, type NodeId, type OrgId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import {
  countOutages,
  hadFaultSince,
  listFaultsSince,
  listOutagesAndReturns,
  nodeHistory,
  nodesInService,
  nodesWithFaultsSince,
} from '../../fleet/index.ts';
import { placedInstances } from '../../rental-lookup/index.ts';
import { zeroCounters, computeReliability } from './reliability.ts';
import { minRentalIdAt } from './reliability.store.ts';
import { quarantinePolicy, type HostFault, type QuarantineEvidence } from './quarantine-decision.ts';

/** SQL of the evidence for quarantines and of the history of machines. */

export interface QuarantineCandidate {
  readonly machineId: EnrolmentId;
  readonly nodeId: NodeId;
  readonly enrolledAt: Date;
  readonly tests: unknown;
}

/** Machines in service, of these ids or of all, that have possible evidence. */
export async function readQuarantineCandidates(
  reader: Reader,
  where: { readonly now: Date; readonly machineIds: readonly EnrolmentId[] } | { readonly faultsSince: Date },
): Promise<readonly QuarantineCandidate[]> {
  const { lossesMs, outages, outagesMs } = quarantinePolicy;
  const candidate =
    'faultsSince' in where
      ? sql`machine.node_id in ${nodesWithFaultsSince(where.faultsSince)}`
      : sql`machine.id = any (${where.machineIds.map(toUuid)}::uuid[])
            and (node.hardware_read_at > machine.tested_at
                 or ${hadFaultSince('node.id', msBefore(where.now, lossesMs))}
                 or ${countOutages('node.id', msBefore(where.now, outagesMs))} >= ${outages})`;
  const { rows } = await sql<{ machine_id: string; node_id: string; enrolled_at: Date; tests: unknown }>`
    select machine.id as machine_id, machine.node_id, machine.enrolled_at, machine.tests
      from supplier_machines as machine
      join ${nodesInService} as node on node.id = machine.node_id
     where machine.stage = 'enrolled'
       and ${candidate}
     order by machine.id
     limit 1000
  `.execute(reader.kysely);
  return rows.map((row) => ({
    machineId: fromUuid('enr', row.machine_id),
    nodeId: fromUuid('nod', row.node_id),
    enrolledAt: row.enrolled_at,
    tests: row.tests,
  }));
}

function msBefore(at: Date, ms: number): Date {
  return new Date(at.getTime() - ms);
}

/** All evidence except the hardware. The caller holds the lock of the node's capacity. */
export async function readQuarantineEvidence(
  tx: Tx,
  { nodeId, enrolledAt }: Pick<QuarantineCandidate, 'nodeId' | 'enrolledAt'>,
): Promise<Omit<QuarantineEvidence, 'difference'>> {
  const now = tx.clock.now();
  const longest = msBefore(now, Math.max(quarantinePolicy.failedStartsMs, quarantinePolicy.lossesMs));
  const faults: readonly HostFault[] = await listFaultsSince(tx, nodeId, longest);
  const changes = await listOutagesAndReturns(tx, nodeId);
  const { rows: starts } = await sql<{ at: Date | null }>`
    select max(instance.started_at) as at
      from ${placedInstances} as instance
     where instance.node_id = ${toUuid(nodeId)} and instance.rental_id >= ${minRentalIdAt(longest)}
       and instance.started_at > ${longest}
  `.execute(tx.kysely);
  const putBack = changes.findLast(({ from }) => from === 'node_quarantined')?.at ?? enrolledAt;
  return {
    now,
    inServiceSince: putBack > enrolledAt ? putBack : enrolledAt,
    faults,
    lastStartAt: starts[0]?.at ?? null,
    outages: changes.filter(({ to }) => to === 'node_offline').map(({ at }) => at),
  };
}

/** Also for a machine that was never measured. */
export async function incrementQuarantines(
  tx: Tx,
  { machineId, enrolledAt }: Pick<QuarantineCandidate, 'machineId' | 'enrolledAt'>,
): Promise<void> {
  const { score, uptime, starting } = computeReliability(zeroCounters);
  await sql`
    insert into supplier_machine_trust as trust (machine_id, measured_until, score_ppm, uptime_ppm, starting_ppm, quarantines)
    values (${toUuid(machineId)}, ${enrolledAt}, ${score}, ${uptime}, ${starting}, 1)
    on conflict (machine_id) do update set quarantines = trust.quarantines + 1
  `.execute(tx.kysely);
}

/** A change of state or a fault. */
export interface MachineHistoryEntry {
  readonly at: Date;
  readonly kind: 'state' | 'failed_start' | 'loss';
  /** The new state, for a change of state. */
  readonly status: MachineState | null;
  readonly reason: string;
}

/** Newest first, since it joined. Empty if the organisation has no such machine. */
export async function readMachineHistory(
  reader: Reader,
  orgId: OrgId,
  nodeId: NodeId,
  limit: number,
): Promise<readonly MachineHistoryEntry[]> {
  const { rows } = await sql<MachineHistoryEntry>`
    select entry.at, entry.kind, entry.status, entry.reason
      from supplier_machines as machine
      cross join lateral ${nodeHistory('machine.node_id')} as entry
     where machine.org_id = ${toUuid(orgId)} and machine.node_id = ${toUuid(nodeId)}
     order by entry.at desc, entry.seq desc
     limit ${limit}
  `.execute(reader.kysely);
  return rows;
}
