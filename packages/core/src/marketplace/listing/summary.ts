import type { Timer } from '@millrace/platform/clock';
import { LISTING_MAX_AGE_MS, type Listing } from './listing.ts';
import type { MachineTable } from './machine-table.ts';

/** Summarises the marketplace by GPU model for the public catalog. */

export interface GpuSummary {
  /** Joins the models of a machine with several; their GPUs are not counted separately. */
  readonly gpuModel: string;
  readonly machines: number;
  readonly gpusFree: number;
  /** USD per GPU-hour on machines with free GPUs; null if none is free. */
  readonly lowestPrice: number | null;
}

/** Without test machines. Pure. */
export function summariseGpus(table: Pick<MachineTable, 'liveValues'>): readonly GpuSummary[] {
  const summaries = new Map<string, GpuSummary>();
  const machines = table.liveValues('hardware.gpus.model', 'gpus_available', 'pricing.price.amount');
  for (const [models = [], [free = 0] = [], [price = 0] = []] of machines) {
    if (models.length === 0) continue;
    const gpuModel = models.map(String).toSorted().join(' + ');
    const before = summaries.get(gpuModel) ?? { gpuModel, machines: 0, gpusFree: 0, lowestPrice: null };
    const hasFree = Number(free) > 0;
    summaries.set(gpuModel, {
      gpuModel,
      machines: before.machines + 1,
      gpusFree: before.gpusFree + Number(free),
      lowestPrice: hasFree ? Math.min(Number(price), before.lowestPrice ?? Infinity) : before.lowestPrice,
    });
  }
  return [...summaries.values()].toSorted((one, other) => (one.gpuModel < other.gpuModel ? -1 : 1));
}

/** Null if the listing is not loaded or is outdated. */
export function gpuSummaryOf(listing: Pick<Listing, 'table'>, clock: Timer): readonly GpuSummary[] | null {
  const known = listing.table();
  const isFresh = known !== null && clock.monotonicMs() - known.asOfMs <= LISTING_MAX_AGE_MS;
  return isFresh ? summariseGpus(known.table) : null;
}
