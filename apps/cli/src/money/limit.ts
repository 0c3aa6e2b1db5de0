import type { Context } from '../framework/context.ts';
import { printList, type Column } from '../framework/output.ts';
import { truncatedListNote } from '../text/truncated-list.ts';
import { noteTestMode } from './mode.ts';
import { take } from './take.ts';

/** The default length of a list. */
export const limitFlag = {
  limit: {
    type: 'number',
    integer: true,
    min: 1,
    max: 100_000,
    default: 50,
    value: 'N',
    describe: 'the maximum number of entries',
  },
} as const;

/** For lists that are shorter by default. */
export function fewFlag(count: number, max?: number) {
  const describe = 'the maximum number of entries';
  const range = { min: 1, ...(max === undefined ? {} : { max }) };
  return {
    limit: { type: 'number', integer: true, ...range, value: 'N', default: count, describe },
  } as const;
}

/** The page size for a number of entries. */
export const pageSize = (limit: number): number => Math.min(limit, 200);

/** Prints the first entries, and whether there are more. */
export async function printLimitedList<Row>(
  context: Context,
  items: AsyncIterable<Row>,
  columns: readonly Column<Row>[],
  options: {
    readonly limit: number;
    readonly noun: string;
    readonly empty: string;
    readonly more?: string;
    /** Says that test mode is free. */
    readonly showsAmounts?: true;
  },
): Promise<void> {
  const { limit, noun, empty, more = `More: --limit ${limit * 2}` } = options;
  const taken = await take(items, limit);
  const rest = truncatedListNote({
    shown: taken.items.length,
    total: taken.more ? null : taken.items.length,
    noun,
    more,
  });
  printList(context, taken.items, columns, { empty, ...(rest === null ? {} : { footer: rest }) });
  if (options.showsAmounts === true && taken.items.length > 0) noteTestMode(context);
}
