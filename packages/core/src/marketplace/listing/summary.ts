import type { Timer } from '@millrace/platform/clock';
import { LISTING_MAX_AGE_MS, type Listing } from './listing.ts';
import type { MachineTable } from './machine-table.ts';

/** The marketplace in a few lines: for those who look whether it is worth looking. */

export interface GpuSummary {
  /** Of a machine with several models all of them: its GPUs are not counted apart. */
  readonly gpuModel: string;
  readonly machines: number;
  readonly gpusFree: number;
  /** Of an hour of one GPU, in USD, on machines that have some free; null where none has. */
  readonly lowestPrice: number | null;
}

/** The machines that everybody sees, by their GPUs. Pure. */
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

/** Null: nothing was read yet, or not for so long that it may be wrong. */
export function gpuSummaryOf(listing: Pick<Listing, 'table'>, clock: Timer): readonly GpuSummary[] | null {
  const known = listing.table();
  const isFresh = known !== null && clock.monotonicMs() - known.asOfMs <= LISTING_MAX_AGE_MS;
  return isFresh ? summariseGpus(known.table) : null;
}
