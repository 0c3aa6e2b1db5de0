import { defineCommand } from '../framework/command.ts';
import { printJson, printList } from '../framework/output.ts';
import type { Context } from '../framework/context.ts';
import { modeOf } from '../money/mode.ts';
import { groupings, sumOf, usageChart, type Grouping, type UsageRow } from '../money/usage.ts';
import { usdText } from '@millrace/sdk/text';
import { parseTimestamp } from '../text/timestamps.ts';

const dayMs = 86_400_000;

export const command = defineCommand({
  name: 'usage',
  summary: 'Show the cost by day and by model, as charts',
  description:
    'Shows charges, exact to the nano-USD. Days are in UTC. Without --by there are two charts: by day and by model. With --columns it prints a table with tokens, GPU seconds and requests.',
  flags: {
    by: {
      type: 'list',
      value: 'GROUPS',
      choices: groupings,
      describe: 'group by day, model, rental, volume or key',
    },
    days: {
      type: 'number',
      integer: true,
      min: 1,
      max: 366,
      value: 'N',
      describe: 'the last N days, including today',
    },
    from: { type: 'text', value: 'TIME', describe: 'from this day or time' },
    until: { type: 'text', value: 'TIME', describe: 'before this day or time' },
  },
  examples: {
    'millrace usage --days 7': 'The last week',
    'millrace usage --by key --from 2026-08-01': 'The cost of each key since August',
    'millrace usage --by model --columns group,amount,tokensPrompt,tokensCompletion':
      'The tokens of each model, as a table',
  },
  operations: ['getUsage'],
  json: { kind: 'record', fields: ['from', 'until', 'groups'] },
  failure: 'Could not read the usage',
  run: async (context, { flags }) => {
    const by: readonly Grouping[] = flags.by.length === 0 ? ['day', 'model'] : [...new Set(flags.by)];
    const period = periodOf(flags, context.clock.now().getTime());
    const client = context.client();
    const groups: Partial<Record<Grouping, UsageRow[]>> = {};
    for (const groupBy of by) {
      groups[groupBy] = await client.usage.list({ ...period, groupBy, limit: 200 }).all();
    }
    if (context.output.format === 'json') {
      // Each group has its own sum: the cost of a rental is in its days and in no model.
      const summed = by.map(
        (group) => [group, { totalNanoUsd: sumOf(groups[group] ?? []), rows: groups[group] }] as const,
      );
      printJson(context, { ...period, groups: Object.fromEntries(summed) });
      return;
    }
    const { io } = context;
    for (const [nth, group] of by.entries()) {
      const rows = groups[group] ?? [];
      if (context.output.columns !== undefined)
        printList(context, rows, columns, { empty: noUsageText(context) });
      else if (rows.length === 0) {
        if (nth === 0) context.note(noUsageText(context));
      } else {
        const chart = usageChart(group, rows, {
          columns: io.columns,
          paint: (bar) => io.paint('cyan', bar),
        });
        io.out(`${[...(nth === 0 ? [] : ['']), ...chart].join('\n')}\n`);
      }
    }
  },
});

const noUsageText = (context: Context): string =>
  modeOf(context) === 'test'
    ? 'Nothing was charged in this period: test mode is free. See what one request costs live: millrace usage request ID'
    : 'Nothing was charged in this period. See the offers: millrace offers, millrace models';

const columns = [
  { name: 'group', value: (row: UsageRow) => row.group },
  { name: 'amount', align: 'right', value: (row: UsageRow) => usdText(row.amountNanoUsd) },
  { name: 'requests', align: 'right', value: (row: UsageRow) => row.requestCount },
  { name: 'tokensPrompt', align: 'right', value: (row: UsageRow) => row.tokensPrompt },
  { name: 'tokensCompletion', align: 'right', value: (row: UsageRow) => row.tokensCompletion },
  { name: 'gpuSeconds', align: 'right', value: (row: UsageRow) => row.gpuSeconds },
  { name: 'volumeGbSeconds', align: 'right', value: (row: UsageRow) => row.volumeGbSeconds },
] as const;

interface PeriodFlags {
  readonly days: number | undefined;
  readonly from: string | undefined;
  readonly until: string | undefined;
}

/** Set explicitly, so that the output can name the period. */
function periodOf(
  { days = 31, from, until }: PeriodFlags,
  nowMs: number,
): { readonly from: string; readonly until: string } {
  const end = until === undefined ? new Date(nowMs).toISOString() : parseTimestamp('--until', until);
  if (from !== undefined) return { from: parseTimestamp('--from', from), until: end };
  // The last included moment decides the day: until midnight means until the day before.
  const lastDay = new Date(Date.parse(end) - 1).toISOString().slice(0, 10);
  return { from: new Date(Date.parse(lastDay) - (days - 1) * dayMs).toISOString(), until: end };
}
