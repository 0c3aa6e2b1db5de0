import type { GpuType, MachineState } from '@millrace/contract';
import type { Reader } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { sql } from 'kysely';

/** All SQL about figures for operators. */

export async function countNodes(reader: Reader): Promise<ReadonlyMap<MachineState, number>> {
  const { rows } = await sql<{ status: MachineState; nodes: bigint }>`
    select status, count(*) as nodes from nodes group by status
  `.execute(reader.kysely);
  return new Map(rows.map(({ status, nodes }) => [status, Number(nodes)]));
}

export interface GpuFigures {
  readonly region: string;
  readonly gpuType: GpuType;
  readonly mode: Mode;
  readonly total: number;
  /** That could be sold now. */
  readonly free: number;
}

export async function countGpus(reader: Reader): Promise<readonly GpuFigures[]> {
  const { rows } = await sql<{ region: string; gpu_type: GpuType; mode: Mode; total: bigint; free: bigint }>`
    select region, gpu_type, mode, sum(gpus_total)::bigint as total,
           coalesce(sum(gpus_free) filter (where placeable), 0)::bigint as free
      from node_capacity where gpu_type is not null group by region, gpu_type, mode
  `.execute(reader.kysely);
  return rows.map(({ region, gpu_type: gpuType, mode, total, free }) => ({
    region,
    gpuType,
    mode,
    total: Number(total),
    free: Number(free),
  }));
}
