import type { MachineState } from '@millrace/contract';
import type { Reader } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { sql } from 'kysely';
import type { FleetGpuType } from '../inventory/gpu-models.ts';

/** SQL for the fleet metrics. */

/** Nodes of one mode, or of both. */
export async function countNodes(
  reader: Reader,
  mode: Mode | null,
): Promise<ReadonlyMap<MachineState, number>> {
  const { rows } = await sql<{ status: MachineState; nodes: bigint }>`
    select status, count(*) as nodes
      from nodes as node
      join node_capacity as capacity on capacity.node_id = node.id
     where ${mode}::fleet_mode is null or capacity.mode = ${mode}
     group by status
  `.execute(reader.kysely);
  return new Map(rows.map(({ status, nodes }) => [status, Number(nodes)]));
}

export interface GpuCounts {
  readonly region: string;
  readonly gpuType: FleetGpuType;
  readonly mode: Mode;
  readonly total: number;
  /** GPUs that can be sold now. */
  readonly free: number;
  /** GPUs of rentals and instances, including those that are being released. */
  readonly allocated: number;
  /** GPUs of nodes that are offline or quarantined. */
  readonly faulty: number;
}

export async function countGpus(reader: Reader): Promise<readonly GpuCounts[]> {
  const { rows } = await sql<{
    region: string;
    gpu_type: FleetGpuType;
    mode: Mode;
    total: bigint;
    free: bigint;
    allocated: bigint;
    faulty: bigint;
  }>`
    select region, gpu_type, mode, sum(gpus_total)::bigint as total,
           coalesce(sum(gpus_free) filter (where placeable), 0)::bigint as free,
           sum(gpus_allocated)::bigint as allocated,
           coalesce(sum(gpus_total) filter (where node.status in ('node_offline', 'node_quarantined')), 0)::bigint as faulty
      from node_capacity as capacity
      join nodes as node on node.id = capacity.node_id
     where gpu_type is not null and node.status <> 'node_removed'
     group by region, gpu_type, mode
  `.execute(reader.kysely);
  return rows.map(({ region, gpu_type: gpuType, mode, ...counts }) => ({
    region,
    gpuType,
    mode,
    total: Number(counts.total),
    free: Number(counts.free),
    allocated: Number(counts.allocated),
    faulty: Number(counts.faulty),
  }));
}

/** Includes offline nodes that return as draining. */
export async function countOverdueDrains(reader: Reader, now: Date): Promise<number> {
  const { rows } = await sql<{ nodes: bigint }>`
    select count(*) as nodes
      from nodes as node
      join node_capacity as capacity on capacity.node_id = node.id
     where node.drain_deadline_at < ${now} and coalesce(node.back_to, node.status) = 'node_draining'
       and capacity.gpus_allocated > 0
  `.execute(reader.kysely);
  return Number(rows[0]?.nodes ?? 0n);
}
