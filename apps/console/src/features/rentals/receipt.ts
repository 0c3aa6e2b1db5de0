import { exactDuration } from '@millrace/sdk/text';
import type { RentalCost } from './rental.ts';

/** Cost lines of a rental, as the service calculated them. */

export type CostLine = RentalCost['lines'][number];

const meters: Readonly<Record<CostLine['meter'], string>> = {
  gpu: 'GPU compute',
  disk: 'Disk while GPUs are released',
  term: 'Remaining term',
  credit: 'Refund',
};

export function meterLabel(meter: CostLine['meter']): string {
  return meters[meter];
}

export function durationText({ seconds }: Pick<CostLine, 'seconds'>): string {
  return exactDuration(seconds);
}

export interface BilledSpan {
  readonly from: string;
  /** Null: ongoing. */
  readonly until: string | null;
}

/** First to last billed time; null if never billed. */
export function billedSpan(lines: readonly CostLine[]): BilledSpan | null {
  const billed = lines.filter(({ meter }) => meter === 'gpu' || meter === 'disk');
  const [first] = billed;
  if (first === undefined) return null;
  const from = billed.reduce((earliest, line) => (line.from < earliest ? line.from : earliest), first.from);
  let until: string | null = first.from;
  for (const line of billed) {
    if (line.until === null) return { from, until: null };
    if (line.until > until) until = line.until;
  }
  return { from, until };
}

/** Amount not posted yet; it is in the ledger within minutes. */
export function unpostedAmount({ totalNanoUsd, postedNanoUsd }: RentalCost): bigint {
  return BigInt(totalNanoUsd) - BigInt(postedNanoUsd);
}
