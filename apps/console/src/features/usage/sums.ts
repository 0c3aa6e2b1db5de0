import { percentOf } from '@millrace/sdk/text';
import { dailyUsd, type DayRange } from '../../ui/logic/daily-usd.ts';
import { products, type UsageRow } from '../money/spend.ts';
import type { Grouping, Period } from './search.ts';

/** Usage lines and their exact sums. */

export interface UsageLine {
  readonly group: string;
  readonly amount: bigint;
  readonly gpuSeconds: number;
  readonly gbSeconds: number;
  readonly requests: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
}

export const zeroUsage: Omit<UsageLine, 'group'> = {
  amount: 0n,
  gpuSeconds: 0,
  gbSeconds: 0,
  requests: 0,
  tokensIn: 0,
  tokensOut: 0,
};

export function toUsageLine(row: UsageRow): UsageLine {
  return {
    group: row.group,
    amount: BigInt(row.amountNanoUsd),
    gpuSeconds: row.gpuSeconds,
    gbSeconds: row.volumeGbSeconds,
    requests: row.requestCount,
    tokensIn: row.tokensPrompt,
    tokensOut: row.tokensCompletion,
  };
}

export function productLines(days: readonly UsageRow[]): readonly UsageLine[] {
  return products
    .map(([product, label]): UsageLine => {
      const amount = days.reduce((sum, row) => sum + BigInt(row.products[product]), 0n);
      return { ...zeroUsage, group: label, amount };
    })
    .filter(({ amount }) => amount !== 0n);
}

/** Days in order; other groups by cost, descending. */
export function sortLines(lines: readonly UsageLine[], by: Grouping): readonly UsageLine[] {
  if (by === 'day') return lines;
  return lines.toSorted((a, b) =>
    a.amount === b.amount ? (a.group < b.group ? -1 : 1) : a.amount > b.amount ? -1 : 1,
  );
}

export function sumLines(lines: readonly UsageLine[]): UsageLine {
  return lines.reduce<UsageLine>(
    (sum, line) => ({
      group: sum.group,
      amount: sum.amount + line.amount,
      gpuSeconds: sum.gpuSeconds + line.gpuSeconds,
      gbSeconds: sum.gbSeconds + line.gbSeconds,
      requests: sum.requests + line.requests,
      tokensIn: sum.tokensIn + line.tokensIn,
      tokensOut: sum.tokensOut + line.tokensOut,
    }),
    { ...zeroUsage, group: '' },
  );
}

/** Includes days without charges. */
export function dailyChart(
  days: readonly UsageRow[],
  range: DayRange,
): { readonly seconds: readonly number[]; readonly usd: readonly number[] } {
  return dailyUsd(new Map(days.map(({ group, amountNanoUsd }) => [group, amountNanoUsd])), range);
}

/** `12 %`, or `under 1 %` for any smaller positive share. */
export function shareText(amount: bigint, of: bigint): string {
  const percent = percentOf(amount, of);
  return percent === 0 && amount > 0n ? 'under 1 %' : `${String(percent)} %`;
}

/** CLI command for the same view. */
export function usageCommand(by: Grouping, { from, until }: Period): string {
  const group = by === 'product' ? 'day' : by;
  return `millrace usage --by ${group} --from ${from.slice(0, 10)} --until ${until.slice(0, 10)}`;
}
