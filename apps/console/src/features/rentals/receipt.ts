import { exactDuration } from '@millrace/sdk/text';
import type { RentalCost } from './rental.ts';

/** What a rental cost, line by line, as the service added it up. */

export type CostLine = RentalCost['lines'][number];

const meters: Readonly<Record<CostLine['meter'], string>> = {
  gpu: 'Machine with its GPUs',
  disk: 'Disk, kept while the GPUs were given back',
  term: 'Rest of the term, which stays owed',
  credit: 'Given back',
};

export function meterLabel(meter: CostLine['meter']): string {
  return meters[meter];
}

export function durationText({ seconds }: Pick<CostLine, 'seconds'>): string {
  return exactDuration(seconds);
}

export interface BilledSpan {
  readonly from: string;
  /** Null: it goes on. */
  readonly until: string | null;
}

/** From the first moment that was billed to the last; null when nothing ever was. */
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

/** What has run up since the last posting: it is owed already and in the ledger within minutes. */
export function unpostedAmount({ totalNanoUsd, postedNanoUsd }: RentalCost): bigint {
  return BigInt(totalNanoUsd) - BigInt(postedNanoUsd);
}
